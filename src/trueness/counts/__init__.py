"""Room of counts."""
