"""Room of nogold."""
