"""Make the sample corpus: English sentences with names of people, organisations, places and dates.

The project makes this corpus itself, so that users can try every command without a download. Names
are made of syllables, and each split has names that no other split has.
"""

import random
from pathlib import Path
from typing import Annotated, NamedTuple

import spacy
import typer
from spacy.tokens import DocBin
from wasabi import msg

from experiments.corpora import sample_words
from spacy_multihash.corpus.conll import tagged_doc
from spacy_multihash.corpus.read import write_corpora

SIZES = {"train": 3000, "dev": 500, "test": 600}

# The shares of sentences without entities, of ambiguous names, and of name words from the own pool
# of dev and test. With these shares, a small model scores well, but not perfectly.
PLAIN_SHARE = 0.15
AMBIGUOUS_SHARE = 0.12
OWN_NAME_SHARE = 0.45


class Sentence(NamedTuple):
    """The words of a sentence and their IOB2 tags."""

    words: list[str]
    tags: list[str]


class Namer:
    """Makes names of each label for one split.

    rng (random.Random): The source of randomness.
    common (Pool): The name words that every split may use.
    own (Pool): The name words of only this split. For train, they're the common name words.
    """

    def __init__(
        self, rng: random.Random, common: sample_words.Pool, own: sample_words.Pool
    ) -> None:
        """Keep the source of randomness and the name words."""
        self.rng = rng
        self.common = common
        self.own = own

    def name(self, slot: str, *, ambiguous: bool) -> list[str]:
        """Return the words of a name.

        slot (str): PERSON, ORG, GPE, DAY, PERIOD or TIME.
        ambiguous (bool): Whether the name may have another label elsewhere.
        """
        names = sample_words.AMBIGUOUS_NAMES.get(slot)
        if ambiguous and names and self.rng.random() < AMBIGUOUS_SHARE:
            return [self.rng.choice(names)]
        makers = {
            "PERSON": self._person,
            "ORG": self._org,
            "GPE": self._gpe,
            "DAY": self._day,
            "PERIOD": self._period,
            "TIME": self._time,
        }
        return makers[slot]().split()

    def word(self, kind: str) -> str:
        """Return a word of a name.

        kind (str): A key of `POOL_SIZES`.
        """
        pool = self.own if self.rng.random() < OWN_NAME_SHARE else self.common
        # The square makes the first words frequent and the last words rare, like real names.
        return pool[kind][int(len(pool[kind]) * self.rng.random() ** 2)]

    def _person(self) -> str:
        first, surname = self.word("first"), self.word("surname")
        initial = self.rng.choice("ABCDEFGHJKLMPRST")
        forms = [f"{first} {surname}", f"{first} {initial}. {surname}", surname, first]
        return self.rng.choices(forms, weights=(50, 8, 30, 12))[0]

    def _org(self) -> str:
        company, city, rng = self.word("company"), self.word("city"), self.rng
        forms = [
            company,
            f"{company} {rng.choice(sample_words.COMPANY_FORMS)}",
            f"{self.word('surname')} & {self.word('surname')}",
            f"{rng.choice(sample_words.INSTITUTIONS_OF)} {city}",
            f"{city} {rng.choice(sample_words.INSTITUTIONS)}",
            "".join(rng.choices("ABCDEFGIKLMNOPRSTU", k=rng.choice((3, 3, 4)))),
        ]
        return rng.choices(forms, weights=(35, 25, 10, 10, 12, 8))[0]

    def _gpe(self) -> str:
        city = self.word("city")
        forms = [city, f"{self.rng.choice(sample_words.CITY_PREFIXES)} {city}", f"{city} County"]
        return self.rng.choices(forms, weights=(70, 20, 10))[0]

    def _day(self) -> str:
        rng = self.rng
        month = rng.randrange(12)
        name = sample_words.MONTHS[month]
        day, year = rng.randint(1, 28), rng.randint(1950, 2029)
        forms = [
            f"{day} {name} {year}",
            f"{name} {day} , {year}",
            f"{name} {day}",
            f"{year}-{month + 1:02}-{day:02}",
            f"{day:02}/{month + 1:02}/{year}",
            rng.choice(sample_words.WEEKDAYS),
        ]
        return rng.choice(forms)

    def _period(self) -> str:
        rng = self.rng
        month, season = rng.choice(sample_words.MONTHS), rng.choice(sample_words.SEASONS)
        year = rng.randint(1950, 2029)
        forms = [month, f"{month} {year}", f"{season} {year}", str(year), f"the {year // 10 * 10}s"]
        return rng.choice(forms)

    def _time(self) -> str:
        return self.rng.choice([self._day(), self._period(), f"the end of {self._period()}"])


def make_sentence(rng: random.Random, namer: Namer, known: frozenset[str]) -> Sentence:
    """Make a sentence from a template.

    rng (random.Random): The source of randomness.
    namer (Namer): Makes the names.
    known (frozenset[str]): The name words of all splits, which no misspelling may equal.
    """
    is_plain = rng.random() < PLAIN_SHARE
    template = rng.choice(sample_words.PLAIN_TEMPLATES if is_plain else sample_words.TEMPLATES)
    roll = rng.random()
    words: list[str] = []
    tags: list[str] = []
    for slot in template.split():
        key = slot.strip("{}")
        if key == slot:
            filled, labels = [slot], ["O"]
        elif key == "brand":
            filled, labels = [namer.word("brand")], ["O"]
        elif key in sample_words.FILLERS:
            filled, labels = [rng.choice(sample_words.FILLERS[key])], ["O"]
        else:
            choices = key.split("|")
            choice = rng.choice(choices)
            label = sample_words.LABELS[choice]
            # If the context doesn't tell the label, an ambiguous name could only be guessed.
            filled = namer.name(choice, ambiguous=len(choices) == 1)
            labels = [f"B-{label}"] + [f"I-{label}"] * (len(filled) - 1)
            if label != "DATE":
                filled = sample_words.distort(rng, filled, roll, known)
        words.extend(filled)
        tags.extend(labels)
    if tags[0] == "O":
        words[0] = words[0][0].upper() + words[0][1:]
    return Sentence(words, tags)


def make_sentences(seed: int) -> dict[str, list[Sentence]]:
    """Make the sentences of each split.

    seed (int): The same seed gives the same sentences.
    """
    rng = random.Random(seed)
    pools = sample_words.make_pools(rng)
    known = frozenset(word for pool in pools.values() for words in pool.values() for word in words)
    splits = {}
    for split, size in SIZES.items():
        namer = Namer(rng, pools["train"], pools[split])
        splits[split] = [make_sentence(rng, namer, known) for _ in range(size)]
    return splits


def make_sample(output: Path, seed: int = 0) -> None:
    """Make the sample corpus. The same seed gives the same bytes.

    output (Path): The folder to write train.spacy, dev.spacy and test.spacy to.
    seed (int): The seed of all choices.
    """
    splits = make_sentences(seed)
    vocab = spacy.blank("en").vocab
    doc_bins = {
        split: DocBin(docs=[tagged_doc(vocab, s.words, s.tags) for s in sentences])
        for split, sentences in splits.items()
    }
    write_corpora(output, doc_bins)


def make_sample_cli(
    output: Annotated[Path, typer.Argument(help="Folder for train, dev and test.spacy")],
    seed: Annotated[int, typer.Option(help="Seed of all choices")] = 0,
) -> None:
    """Make the sample corpus for entity recognition.

    It needs no download, and the same seed gives the same bytes.

    DOCS: https://spacy.io/api/docbin
    """
    try:
        make_sample(output, seed)
    except OSError as error:
        msg.fail(f"Could not write to {output}", error, exits=1)
    msg.good(f"Made the sample with seed {seed}", output)
