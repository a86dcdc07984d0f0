"""Tests of what the command `fit` adds to the others."""
