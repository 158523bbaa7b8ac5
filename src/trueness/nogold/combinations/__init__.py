"""Room of nogold.combinations."""
