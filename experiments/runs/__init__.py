"""The grid of runs: planned, run, and kept."""
