"""`tagger_ner`: all tokens are tagged at once."""
