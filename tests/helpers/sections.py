"""Sections of configs, which name an architecture."""

from typing import Any

Section = dict[str, Any]


def ours(name: str, **settings: Any) -> Section:
    """Make a section of one of our architectures, such as "MultiHashEmbed"."""
    return {"@architectures": f"spacy-multihash.{name}.v1", **settings}


def spacys(name: str, **settings: Any) -> Section:
    """Make a section of one of spaCy's architectures, such as "Tagger.v2"."""
    return {"@architectures": f"spacy.{name}", **settings}


def tok2vec(embed: Section, encode: Section) -> Section:
    return spacys("Tok2Vec.v2", embed=embed, encode=encode)


def listener(width: int = 16, upstream: str = "tok2vec") -> Section:
    return spacys("Tok2VecListener.v1", width=width, upstream=upstream)


def windows(width: int = 16, depth: int = 1) -> Section:
    sizes = {"width": width, "depth": depth, "window_size": 1, "maxout_pieces": 2}
    return ours("MaxoutWindowEncoder", **sizes)


def transitions(tok2vec: Section | str, hidden_width: int = 8) -> Section:
    """Make a section of the model of spaCy's ner."""
    sizes = {"hidden_width": hidden_width, "maxout_pieces": 2, "use_upper": True}
    settings = {"state_type": "ner", "extra_state_tokens": False, **sizes}
    return spacys("TransitionBasedParser.v2", **settings, tok2vec=tok2vec)
