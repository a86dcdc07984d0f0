"""Multi hash and multi lookup embeddings for spaCy, with any number of hash functions."""
