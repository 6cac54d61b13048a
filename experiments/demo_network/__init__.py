"""A network for the built-in population, trained and held against the search it stands in for."""
