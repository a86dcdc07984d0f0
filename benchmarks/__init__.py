"""Benchmarks: python -m benchmarks.speed, and so on. Not installed."""
