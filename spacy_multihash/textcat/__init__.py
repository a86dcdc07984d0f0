"""N-grams to labels: the text classifiers."""
