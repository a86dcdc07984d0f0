"""Values of features to vectors: token attributes and n-grams, hashed or looked up."""
