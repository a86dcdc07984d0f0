"""From a corpus to a trained pipeline and a report: what the command `fit` adds to the others."""
