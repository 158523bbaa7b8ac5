"""Room of nogold.sampling."""
