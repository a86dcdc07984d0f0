"""Published corpora converted, and corpora made by the project itself."""
