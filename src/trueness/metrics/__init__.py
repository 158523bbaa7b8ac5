"""Room of metrics."""
