"""spaCy's dependency parser, by a compiled loop over states."""
