"""Our layers in place of spaCy's in a trained pipeline, and spaCy's in place of ours."""
