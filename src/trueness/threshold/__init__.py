"""Room of threshold."""
