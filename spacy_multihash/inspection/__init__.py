"""Explain what a model does on a corpus."""
