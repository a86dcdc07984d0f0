"""Read, write and describe docs in files."""
