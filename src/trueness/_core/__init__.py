"""Room of _core."""
