"""Vectors to vectors in context: the encoders."""
