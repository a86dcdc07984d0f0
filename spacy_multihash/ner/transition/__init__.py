"""batch_ner: spaCy's transition-based recognizer, all states of a batch at once."""
