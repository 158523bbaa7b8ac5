"""Room of scale."""
