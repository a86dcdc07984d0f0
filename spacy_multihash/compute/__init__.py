"""Arithmetic on arrays, on CPU and GPU: fast, and nothing of docs."""
