"""What a model makes of a corpus."""
