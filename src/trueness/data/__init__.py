"""Room of data."""
