"""Static vectors: read, write, align and shrink tables, and use several at once."""
