"""Static vectors: tables of words and n-grams, made smaller, rotated, joined and compared.

`vocab` is the one module that knows spaCy. All others compute with arrays. docs/static-vectors.md
says what each method is for.
"""
