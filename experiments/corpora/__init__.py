"""Convert published corpora, and make our own."""
