"""Make a small corpus of texts on topics, to try text classification without a download.

A text has a few sentences of the sample corpus, which tell nothing about its topic, mixed with
words of the topic. Each topic has its own words, made of syllables. Some are frequent and others
rare, as in real texts. A text also has words of other topics, so that no single word reveals its
topic.
"""

import random
from pathlib import Path
from typing import Annotated

import spacy
import typer
from spacy.tokens import DocBin
from wasabi import msg

from experiments.corpora.sample import make_sentences
from experiments.corpora.sample_words import MIDDLES, ROOTS
from spacy_multihash.corpus.read import write_corpora

SIZES = {"train": 2000, "dev": 300, "test": 500}
TOPICS = ("economy", "science", "sport", "travel")
WORDS_PER_TOPIC = 400
SENTENCES_PER_TEXT = 3
TOPIC_WORDS_PER_TEXT = 6
# The share of a text's topic words that come from a random topic.
STRAY_SHARE = 0.3


def make_words(rng: random.Random) -> dict[str, list[str]]:
    """Make the words of each topic, the most frequent first. No word belongs to two topics.

    rng (random.Random): The source of randomness.
    """
    count = len(TOPICS) * WORDS_PER_TOPIC
    words: dict[str, None] = {}  # in order
    while len(words) < count:
        words[rng.choice(ROOTS) + rng.choice(MIDDLES) + rng.choice(ROOTS)] = None
    every = list(words)
    return {topic: every[i :: len(TOPICS)] for i, topic in enumerate(TOPICS)}


def make_text(
    rng: random.Random, topic: str, words: dict[str, list[str]], sentences: list[list[str]]
) -> str:
    """Make a text on a topic.

    rng (random.Random): The source of randomness.
    topic (str): A topic in `TOPICS`.
    words (dict[str, list[str]]): The words of each topic.
    sentences (list[list[str]]): Sentences that tell nothing about a topic.
    """
    text = [word for _ in range(SENTENCES_PER_TEXT) for word in rng.choice(sentences)]
    for _ in range(TOPIC_WORDS_PER_TEXT):
        of = rng.choice(TOPICS) if rng.random() < STRAY_SHARE else topic
        # The cube makes the first words frequent and the last words rare.
        word = words[of][int(WORDS_PER_TOPIC * rng.random() ** 3)]
        text.insert(rng.randrange(len(text) + 1), word)
    return " ".join(text)


def make_topics(output: Path, seed: int = 0) -> None:
    """Make the corpus. The same seed gives the same texts.

    output (Path): The folder to write train.spacy, dev.spacy and test.spacy to.
    seed (int): The seed of all choices.
    """
    rng, nlp = random.Random(seed), spacy.blank("en")
    words = make_words(rng)
    splits = {split: DocBin(attrs=[]) for split in SIZES}
    for split, made in make_sentences(seed).items():
        sentences = [sentence.words for sentence in made]
        for i in range(SIZES[split]):
            topic = TOPICS[i % len(TOPICS)]
            text = make_text(rng, topic, words, sentences)
            doc = nlp.make_doc(text)
            doc.cats = {name: float(name == topic) for name in TOPICS}
            splits[split].add(doc)
    write_corpora(output, splits)


def make_topics_cli(
    output: Annotated[Path, typer.Argument(help="Folder for train, dev and test.spacy")],
    seed: Annotated[int, typer.Option(help="Seed of all choices")] = 0,
) -> None:
    """Make the sample corpus for text classification, of texts on topics.

    It needs no download, and the same seed gives the same texts.

    DOCS: docs/text-classification.md
    """
    try:
        make_topics(output, seed)
    except OSError as error:
        msg.fail(f"Could not write to {output}", error, exits=1)
    msg.good(f"Made the topics with seed {seed}", output)
