"""Under the tiers each memory is an assertion: a candidate, active, or superseded."""
