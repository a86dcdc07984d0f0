"""Entities: what both recognizers share is here, each recognizer in a room of its own."""
