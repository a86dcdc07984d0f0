"""Symbols counted, cut, kept in files, and handed to models."""
