"""`python -m benchmarks`: the time and memory of spaCy's pipelines and of ours, side by side."""
