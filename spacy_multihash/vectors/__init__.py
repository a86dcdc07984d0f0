"""Static vectors: read, written, aligned, made smaller, and several of them at once."""
