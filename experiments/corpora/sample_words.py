"""The words of the sample corpus: name words and their misspellings, and sentence templates.

A template is a line of tokens, some of which are slots:

- `{PERSON}` is a slot for a name with that label.
- `{PERSON|ORG}` is a slot for a name with either label, in a context that doesn't tell which.
- `{DAY}`, `{PERIOD}` and `{TIME}` are slots for dates: a day, a period, and any date.
- `{brand}` is a slot for a made-up product, which isn't an entity.
- `{noun}` and the like are slots for a word of `FILLERS`.
"""

import random

Pool = dict[str, list[str]]

ROOTS = (
    "al an ar bal bel ben ber bran bren cal car col cor dal dan dar del dor dun ed el em en far "
    "fen fin gal gar gil glen gor hal ham har hel hol in ing is jan jas jor kal kel ker kin lan "
    "lor lun mal mar mel mil mor nal nel nor ol or os pal pel per quin ral ran rol ros sal sel "
    "sol tal tam tor ul ur val var vel wal wen wil yar yel zan zel"
).split()
MIDDLES = "a am an be da den do e er i in ka la le li ma mi na ni o ra re ri ro sa ta ti va".split()

# Some endings fit two kinds of names, so that the context has to tell them apart.
ENDINGS = {
    "first": "a ah ard bert elle ette ia ina ine is o rick win wyn".split(),
    "surname": "berg by ford ham ley man mann owski sen ski son stein ton worth".split(),
    "city": "burg bury dam ford ham mouth polis port stad stead ton ville wick".split(),
    "company": "co com dyne ex ics ium lab net ova soft sys tech tron works".split(),
    "brand": "ex ia ium ix o ona ova".split(),
}
# The endings that fit all kinds of names.
COMMON_ENDINGS = "al an ar el en et or us".split()
COMMON_ENDING_SHARE = 0.4
# The shares of sentences with names in lower case, and with names misspelt.
LOWER_SHARE = 0.1
TYPO_SHARE = 0.1
# The share of the name words in each split's pool. Dev and test also use the pool of train.
POOL_SHARES = {"train": 0.6, "dev": 0.15, "test": 0.25}
POOL_SIZES = {"first": 220, "surname": 360, "city": 300, "company": 300, "brand": 200}

AMBIGUOUS = {
    "PERSON": "April Austin Chelsea Florence Ford Jordan June Lincoln May Morgan Paris Washington",
    "ORG": "Amazon Chelsea Ford Lincoln Morgan Washington",
    "GPE": "Amazon Austin Chelsea Florence Jordan Lincoln Paris Washington",
    "PERIOD": "April June May",
}
AMBIGUOUS_NAMES = {slot: names.split() for slot, names in AMBIGUOUS.items()}
LABELS = {slot: slot for slot in ("PERSON", "ORG", "GPE")} | {
    slot: "DATE" for slot in ("DAY", "PERIOD", "TIME")
}

MONTHS = (
    "January February March April May June July August September October November December"
).split()
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
SEASONS = "spring summer autumn winter".split()

COMPANY_FORMS = "Corp Corporation Ltd Inc Group Holdings Partners Industries".split()
INSTITUTIONS = ["Institute", "Museum", "Airport", "Chamber of Commerce", "United", "Herald"]
INSTITUTIONS_OF = ["University of", "Bank of", "Port of", "Opera of"]
CITY_PREFIXES = ["New", "Port", "San", "Upper", "Fort", "Saint"]

FILLERS = {
    "noun": "report plan budget contract bridge concert strike storm vote factory match "
    "harbour review survey novel trial merger garden motor festival".split(),
    "nouns": "engineers farmers visitors students doctors workers players voters nurses "
    "drivers neighbours investors".split(),
    "adj": "new late small costly quiet recent local public second final modest broken".split(),
    "said": "said added explained warned insisted replied wrote argued".split(),
    "role": "minister singer coach baker teacher judge director painter".split(),
    "did": "opened closed rejected discussed praised delayed cancelled reviewed".split(),
    "number": "two three seven twelve 40 250 1,200".split(),
}

TEMPLATES = """
{PERSON} {said} that the {noun} was {adj} .
" The {noun} is {adj} , " {PERSON} {said} .
Mr. {PERSON} {did} the {noun} on {DAY} .
Dr. {PERSON} will speak to {nouns} in {GPE} .
The {role} {PERSON} {did} a {adj} {noun} .
{PERSON} , a {role} from {GPE} , {did} the {noun} .
{PERSON} was born in {GPE} on {DAY} .
{PERSON} and her brother {PERSON} live near {GPE} .
He met {PERSON} at the {noun} , and she {said} nothing .
The {noun} by {PERSON} sold {number} copies .
{PERSON} joined {ORG} as a {role} in {PERIOD} .
{PERSON} , who runs {ORG} , {said} the {noun} may be {adj} .
{ORG} named {PERSON} its {adj} {role} .
Shares of {ORG} fell after the {noun} .
{ORG} shares rose on {DAY} , and {nouns} were relieved .
{ORG} plans to hire {number} {nouns} in {GPE} .
The board of {ORG} {did} the {noun} in {PERIOD} .
{ORG} and {ORG} signed a {adj} contract .
A spokesman for {ORG} {said} the {noun} was {adj} .
The {noun} made by {ORG} is {adj} .
Workers at {ORG} went on strike in {GPE} .
{ORG} bought a {noun} from {ORG} for {number} million .
She left {ORG} on {DAY} .
The road from {GPE} to {GPE} was closed on {DAY} .
It rained in {GPE} and the {noun} was {adj} .
{nouns} travelled to {GPE} for the {noun} .
The mayor of {GPE} {did} the {noun} .
{GPE} , the capital of {GPE} , has a {adj} harbour .
The people of {GPE} voted in {PERIOD} .
The {adj} {noun} near {GPE} needs {number} {nouns} .
Two trains to {GPE} were late on {DAY} .
In {PERIOD} the {noun} in {GPE} drew {number} {nouns} .
On {DAY} the {nouns} {did} the {noun} .
The {noun} lasted until {TIME} .
Since {TIME} , {ORG} has had no {role} .
By {TIME} the {noun} had cost {number} million .
The {noun} of {TIME} was {adj} , {PERSON} {said} .
{PERSON|ORG} {did} the {noun} .
{PERSON|ORG} {said} the {noun} was {adj} .
{PERSON|ORG} and {PERSON|ORG} {did} the {noun} .
The {nouns} praised {PERSON|ORG|GPE} and {PERSON|ORG|GPE} .
The {nouns} asked {PERSON|ORG} about the {adj} {noun} .
The {noun} with {PERSON|ORG|GPE} was {adj} , the {role} {said} .
The {ORG|GPE} {noun} was {adj} .
The {brand} {noun} was {adj} .
The {nouns} praised the {brand} and the {noun} .
{ORG} makes the {brand} in {GPE} .
{PERSON} {said} the {brand} was {adj} .
Nobody mentioned {PERSON|ORG|GPE} in the {noun} .
The {noun} about {PERSON|ORG|GPE} was {adj} .
{ORG|GPE} had a {adj} {noun} in {PERIOD} .
""".strip().splitlines()

PLAIN_TEMPLATES = """
The {noun} was {adj} , and the {nouns} went home .
{number} {nouns} may come to the {noun} .
It is too {adj} , the {role} {said} .
Why did the {nouns} wait for the {noun} ?
Soldiers march past the {noun} each morning .
They had to ford the river after the {noun} .
Every {role} {did} a {noun} .
Nothing about the {adj} {noun} surprised the {nouns} .
The Internet was slow , so the {nouns} read a {noun} .
" A {adj} {noun} , " the {role} {said} .
Most {nouns} {said} the {noun} may be {adj} .
Chapter {number} of the {noun} is {adj} .
""".strip().splitlines()


def make_pools(rng: random.Random) -> dict[str, Pool]:
    """Make the name words of each split by kind. No word occurs twice, not even across kinds.

    rng (random.Random): The source of randomness.
    """
    pools: dict[str, Pool] = {split: {} for split in POOL_SHARES}
    # No name is a word of the sentences: "Fin" and "al" would make "Final".
    sentences_words = [*FILLERS.values(), *(line.split() for line in TEMPLATES + PLAIN_TEMPLATES)]
    ordinary = {word.title() for words in sentences_words for word in words}
    taken = ordinary.union(*AMBIGUOUS_NAMES.values())
    for kind, size in POOL_SIZES.items():
        words: list[str] = []
        while len(words) < size:
            middle = rng.choice(MIDDLES) if rng.random() < 0.5 else ""
            is_common = rng.random() < COMMON_ENDING_SHARE
            ending = rng.choice(COMMON_ENDINGS if is_common else ENDINGS[kind])
            word = (rng.choice(ROOTS) + middle + ending).title()
            if word not in taken:
                taken.add(word)
                words.append(word)
        start = 0
        for split, share in POOL_SHARES.items():
            stop = start + round(share * size)
            pools[split][kind] = words[start:stop]
            start = stop
    return pools


def misspell(rng: random.Random, word: str) -> str:
    """Return the word with a letter after the first dropped, doubled, changed or swapped.

    rng (random.Random): The source of randomness.
    word (str): The word, of at least three letters.
    """
    i = rng.randrange(1, len(word) - 1)
    head, letter, after, tail = word[:i], word[i], word[i + 1], word[i + 2 :]
    changed = rng.choice([c for c in "abcdefghijklmnopqrstuvwxyz" if c != letter])
    middles = [after, letter * 2 + after, changed + after]
    if letter != after:
        middles.append(after + letter)
    return head + rng.choice(middles) + tail


def distort(rng: random.Random, words: list[str], roll: float, known: frozenset[str]) -> list[str]:
    """Return the words of a name in lower case, with one misspelling, or as they are.

    rng (random.Random): The source of randomness.
    words (list[str]): The words of the name.
    roll (float): A number from 0 to 1 that decides which.
    known (frozenset[str]): The name words of all splits, which no misspelling may equal.
    """
    if roll < LOWER_SHARE:
        return [word.lower() for word in words]
    i = rng.randrange(len(words))
    if roll < LOWER_SHARE + TYPO_SHARE and len(words[i]) > 4:
        typo = misspell(rng, words[i])
        if typo not in known:
            return [*words[:i], typo, *words[i + 1 :]]
    return words
