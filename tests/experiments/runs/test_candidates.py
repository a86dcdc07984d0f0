"""The count of entities below the best."""

from pathlib import Path
from typing import Any

import pytest
import srsly
from spacy.language import Language
from spacy.training import Example

from experiments.runs import candidates
from experiments.runs.candidates import KEY, THRESHOLDS, candidates_cli, count_candidates
from tests.helpers.cli import invoke_command, said
from tests.helpers.corpora import write_corpus
from tests.helpers.recognizers import trained, wrong_docs


@pytest.fixture
def nlp() -> Language:
    nlp = trained("batch_ner", {"spans_key": KEY})
    nlp.rename_pipe("batch_ner", "ner")
    return nlp


def examples(nlp: Language) -> list[Example]:
    return [Example(nlp.make_doc(doc.text), doc) for doc in wrong_docs()]


def test_counts_are_those_of_spans_above_each_threshold(nlp: Language) -> None:
    counts = count_candidates(nlp, examples(nlp))
    pipe: Any = nlp.get_pipe("ner")
    pipe.decoder, pipe.candidates_above = "greedy", min(filter(None, THRESHOLDS))
    docs = [nlp(example.text) for example in examples(nlp)]
    assert counts["docs"] == len(docs)
    assert counts["greedy"] == sum(len(doc.ents) for doc in docs)
    golds = [{(ent.start, ent.end) for ent in gold.ents} for gold in wrong_docs()]
    assert counts["gold"] == sum(map(len, golds)) < counts["greedy"]
    for line, threshold in zip(counts["thresholds"], THRESHOLDS, strict=True):
        kept = []
        for doc in docs:
            ents = {(ent.start, ent.end, ent.label) for ent in doc.ents}
            group = doc.spans[KEY]
            kept.append(
                [
                    (span.start, span.end)
                    for span, score in zip(group, group.attrs["scores"], strict=True)
                    if (span.start, span.end, span.label) in ents
                    or (threshold is not None and score >= threshold)
                ]
            )
        assert line == {
            "candidates_above": threshold,
            "spans": sum(map(len, kept)),
            "boundaries": sum(len({*of_doc}) for of_doc in kept),
            "found": sum(len({*of_doc} & gold) for of_doc, gold in zip(kept, golds, strict=True)),
        }
    spans = [line["spans"] for line in counts["thresholds"]]
    assert spans == sorted(spans) and spans[0] == counts["greedy"] < spans[-1]


def test_most_probable_sequences_and_what_was_left_out_are_counted(nlp: Language) -> None:
    counts = count_candidates(nlp, examples(nlp))
    pipe: Any = nlp.get_pipe("ner")
    pipe.decoder = "best"
    docs = [nlp(example.text) for example in examples(nlp)]
    assert counts["best"] == sum(len(doc.ents) for doc in docs)
    left_out = [doc.spans[KEY].attrs["left_out"] for doc in docs]
    assert counts["left_out"]["max"] == pytest.approx(max(left_out))
    assert counts["left_out"]["mean"] == pytest.approx(sum(left_out) / len(left_out))


def test_counts_are_written(nlp: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(candidates, "load_english", lambda *_: nlp)
    Path("corpus/wnut17").mkdir(parents=True)
    write_corpus(Path("corpus/wnut17/dev.spacy"), wrong_docs())
    result = invoke_command(candidates_cli, "--output", "results/candidates.json")
    counts = srsly.read_json("results/candidates.json")
    assert f"{counts['gold']} entities, {counts['thresholds'][-1]['found']} of" in said(result)
    assert {**count_candidates(nlp, examples(nlp)), "left_out": None} == {
        **counts,
        "left_out": None,
    }


def test_missing_corpus_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke_command(candidates_cli, "--output", "candidates.json")
    assert result.exit_code == 1
    assert "There is no corpus at corpus/wnut17/dev.spacy" in said(result)
    assert "python -m experiments convert wnut17 assets corpus/wnut17" in said(result)
    assert not Path("candidates.json").exists()
