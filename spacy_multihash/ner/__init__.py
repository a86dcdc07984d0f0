"""Named entities: what recognizers share, and a sub-package for each recognizer."""
