"""`python -m benchmarks`: compare the time and memory of spaCy's pipelines and ours."""
