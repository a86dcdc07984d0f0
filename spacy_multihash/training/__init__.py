"""From a corpus to a trained pipeline and a report, for the command `fit`."""
