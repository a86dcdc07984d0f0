"""Measure batch_ner against spaCy's ner, on one model and given the vectors of tokens.

Both find the same entities. That is checked before anything is timed. Everything runs in one
thread.
"""
