"""Room of trees."""
