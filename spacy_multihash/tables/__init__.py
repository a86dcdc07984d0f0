"""Count and cut symbols, save them, and set them in models."""
