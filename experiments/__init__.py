"""The experiments: corpora, runs, and the tables and figures of docs/. Not installed."""
