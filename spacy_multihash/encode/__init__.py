"""Encoders: vectors of tokens to vectors of tokens in context."""
