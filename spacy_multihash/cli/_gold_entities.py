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
    """The gold entities of a corpus that a recognizer can find, and how many others there are."""

    def __init__(self, nlp: Language, name: str) -> None:
        self.nlp, self.name = nlp, name
        self.labels: tuple[str, ...] = nlp.get_pipe(name).labels  # type: ignore[attr-defined]
        self.unknown = Counter[str]()
        self.unaligned = 0

    def read(self, corpus: Path) -> Iterator[tuple[Doc, list[Key]]]:
        """Yield docs with what comes before the recognizer, and their gold entities."""
        for batch in minibatch(model_examples(self.nlp, corpus), _BATCH):
            for doc, example in annotate_before(self.nlp, self.name, batch):
                gold = [ent for ent in example.reference.ents if ent.label_ in self.labels]
                spans = example.get_aligned_spans_y2x(gold)
                labels = (ent.label_ for ent in example.reference.ents)
                self.unknown.update(label for label in labels if label not in self.labels)
                self.unaligned += len(gold) - len(spans)
                if spans:
                    yield doc, [(span.start, span.end, span.label_) for span in spans]

    def left_out(self) -> str:
        """Say which gold entities were left out of what was read; nothing if there are none."""
        reasons = []
        if self.unknown:
            reasons.append(
                f"{sum(self.unknown.values()):,} have labels that {self.name} does not know "
                f"({', '.join(sorted(self.unknown))}; it knows {', '.join(self.labels) or 'none'})"
            )
        if self.unaligned:
            reasons.append(f"{self.unaligned:,} do not align with the pipeline's tokens")
        return ", and ".join(reasons)
