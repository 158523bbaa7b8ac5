"""Room of ensembles."""
