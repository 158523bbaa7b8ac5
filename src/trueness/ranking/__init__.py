"""Room of ranking."""
