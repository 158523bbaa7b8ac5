"""Room of comparison."""
