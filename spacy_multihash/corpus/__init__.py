"""Docs in files, and what is in them."""
