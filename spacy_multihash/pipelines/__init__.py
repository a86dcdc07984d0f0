"""Trained pipelines made faster and smaller: our layers in place of spaCy's, and fewer bits."""
