"""The gold entities that `explain --corpus` explains, and those that it leaves out."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from ..corpus.read import model_examples
from ..inspection.explain import Key
from ..ner.asked import annotate_before

# Docs that the components before the recognizer annotate at once.
_BATCH = 256


class GoldEntities:
    """The gold entities of a corpus that have labels of a recognizer, and the labels of others."""

    def __init__(self, nlp: Language, name: str) -> None:
        self.nlp, self.name = nlp, name
        self.labels: tuple[str, ...] = nlp.get_pipe(name).labels  # type: ignore[attr-defined]
        self.others = Counter[str]()

    def read(self, corpus: Path) -> Iterator[tuple[Doc, list[Key]]]:
        """Yield docs with what comes before the recognizer, and their gold entities."""
        for batch in minibatch(model_examples(self.nlp, corpus), _BATCH):
            pairs = [(example.predicted, example) for example in batch]
            for doc, example in annotate_before(self.nlp, self.name, pairs):
                spans = example.get_aligned_spans_y2x(example.reference.ents)
                self.others.update(ent.label_ for ent in spans if ent.label_ not in self.labels)
                keys = [
                    (ent.start, ent.end, ent.label_) for ent in spans if ent.label_ in self.labels
                ]
                if keys:
                    yield doc, keys

    def nothing_to_explain(self) -> str:
        """Say why there was no gold entity, when all of the corpus is read."""
        if not self.others:
            return "The corpus has no gold entities to explain. Give one that has some."
        return (
            f"None of the {sum(self.others.values()):,} gold entities has a label of "
            f'"{self.name}", which has {", ".join(self.labels) or "none"}. Theirs are '
            f"{', '.join(sorted(self.others))}. Give a corpus with labels of the component."
        )
