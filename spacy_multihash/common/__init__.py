"""What every part may use: no layer, and nothing of spaCy."""
