"""Published corpora, converted, and corpora that the project makes itself."""
