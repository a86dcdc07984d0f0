"""The command group `python -m spacy multihash`, a file a command."""
