"""Measure iterated dilated convolutions and tagger_ner against maxout windows and spaCy's ner.

Three things are timed: encoders, decoders that are given the vectors of tokens, and training steps
of whole pipelines. On a CPU, all of them run in one thread.
"""
