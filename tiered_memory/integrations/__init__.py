"""Adapters to other frameworks, one module each; each needs the extra of its name."""
