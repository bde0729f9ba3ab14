"""What the speed benchmark measures side by side: each contender a small program that speaks `protocol`."""
