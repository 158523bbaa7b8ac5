"""Room of fermi."""
