"""Make trained pipelines faster and smaller: our layers instead of spaCy's, and fewer bits."""
