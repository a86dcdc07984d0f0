"""Measure how the time and the memory of spaCy's layers and ours grow.

What varies is the number of tokens, the width, and the numbers of rows, hashes and distinct words.
"""
