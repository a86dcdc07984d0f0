"""batch_ner: spaCy's transition-based recognizer, as a compiled loop over tokens."""
