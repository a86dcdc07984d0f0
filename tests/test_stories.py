"""Stories: what people do with the package, each in a dozen lines of Python.

Read them as documentation, in order: from texts that somebody annotated to a pipeline that is small
and fast and says how sure it is. The corpus is tiny, so that a story takes a second or two. With a
corpus of your own, leave out the settings that make training short.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.cli.train import train
from spacy.tokens import DocBin

import spacy_multihash as multihash
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.recognizers import wrong_docs
from tests.helpers.spacy_pipelines import CNN, build, ner
from tests.helpers.tagger_ner import randomize
from tests.helpers.vectors import WORDS, loaded, random_vectors, write_pipeline

TEXT = "Anna met Bob in Rome ."
SHORT: dict[str, Any] = {"training.max_steps": 60, "training.eval_frequency": 20}


def annotated(name: str, verb: str, place: str) -> tuple[str, list[tuple[int, int, str]]]:
    """A text with its entities: first character, the character after the last, label."""
    text = f"{name} {verb} {place} ."
    start = text.index(place)
    return text, [(0, len(name), "PER"), (start, start + len(place), "GPE")]


ANNOTATED = [
    annotated(name, verb, place)
    for name in ("Anna", "Bob", "Carla", "Dora", "Emil", "Fritz", "Greta", "Hugo")
    for verb in ("left", "likes", "saw", "lives in")
    for place in ("Rome", "Oslo", "New York")
]


@pytest.fixture(autouse=True)
def _folder(here: Path, recognizer: Any) -> None:
    """Go to a folder with a trained pipeline and its corpora, of which dev has mistakes."""
    Path("model").symlink_to(recognizer("batch_ner"))
    write_corpus(Path("train.spacy"), make_docs(4))
    write_corpus(Path("dev.spacy"), wrong_docs())


def entities(pipeline: str, text: str = TEXT) -> list[tuple[str, str]]:
    """Find the entities of a text, and their labels, by a saved pipeline."""
    return [(ent.text, ent.label_) for ent in spacy.load(pipeline)(text).ents]


def test_convert_a_file_and_look_for_problems_in_it() -> None:
    lines = [{"text": text, "label": spans} for text, spans in ANNOTATED]
    Path("doccano.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf8")
    converted = multihash.convert("doccano.jsonl", "corpus.spacy", lang="en")
    print(converted)  # the format, what was written, and what was left out
    assert converted.splits["corpus"].docs == len(ANNOTATED)
    stats = multihash.corpus_stats("corpus.spacy", "dev.spacy", lang="en")
    print(stats)  # labels, lengths, entities of dev that train lacks, and warnings
    assert stats.splits["train"].labels == {"GPE": 96, "PER": 96}


def test_train_from_annotated_texts() -> None:
    fitted = multihash.fit(ANNOTATED, lang="en", output="out", settings=SHORT, cross_validate=False)
    print(fitted)  # the scores; a notebook shows the whole report
    assert [ent.text for ent in fitted.nlp("Anna likes Oslo .").ents] == ["Anna", "Oslo"]
    assert entities("out/model", "Anna likes Oslo .") == [("Anna", "PER"), ("Oslo", "GPE")]
    assert Path("out/report.html").is_file() and fitted.nlp.path == Path("out/model")


def test_learn_whether_more_data_would_help() -> None:
    fitted = multihash.fit(ANNOTATED, lang="en", settings=SHORT, cross_validate=False, curve=True)
    for advice in fitted.advice:
        print(advice)  # what to do next, and what was measured
    curve = fitted.curve  # F1 after training on 25, 50, 75 and 100 % of train
    assert curve is not None and [round(4 * point.share) for point in curve.points] == [1, 2, 3, 4]
    assert curve.gains[curve.points[0].share].after == fitted.scores["test"].parts["all"].f


def test_train_a_config_with_spacy_and_score_unseen_entities() -> None:
    multihash.init_config("ner", "en", train="train.spacy").config.to_disk("my.cfg")
    corpora = {"paths.train": "train.spacy", "paths.dev": "dev.spacy"}
    tables = multihash.init_tables("my.cfg", overrides=corpora, min_freq=1)
    assert tables.rows["NORM"] > 5  # a row for each value that train has
    train("my.cfg", "training", overrides={**corpora, **SHORT})
    scores = multihash.evaluate("training/model-best", "dev.spacy", "train.spacy")
    print(scores)  # of all entities, and of those that train has or lacks


def test_find_mistakes_and_send_them_back_to_the_annotators() -> None:
    mistakes = multihash.errors("model", "dev.spacy", train="train.spacy", explained=2)
    print(mistakes)
    suspects = [mistake for mistake in mistakes.mistakes if mistake.is_suspect]
    assert {mistake.kind for mistake in suspects} == {"spurious"}  # dev may lack entities
    records = list(mistakes.records("prodigy"))  # JSON lines, the most confident mistakes first
    assert records[0]["spans"] == [] and "predicted GPE" in records[0]["meta"]["mistakes"]
    Path("errors.html").write_text(mistakes.page(), "utf8")


def test_ask_why_an_entity_is_predicted() -> None:
    explanations = multihash.explain("model", TEXT, spans=["Rome=GPE", "Rome=PER"])
    print(explanations)  # a table of tokens and features
    place, person = explanations.explanations
    assert place.predicted and place.probability > person.probability
    effects = multihash.explain_corpus("model", "train.spacy")  # which features count at all?
    assert {effect.feature for effect in effects.effects} >= {"NORM", "SHAPE"}


def test_correct_probabilities_and_show_them() -> None:
    print(multihash.calibrate("model", "dev.spacy", "calibrated"))
    before, after = (multihash.show(name, TEXT).entities for name in ("model", "calibrated"))
    assert [entity.text for entity in after] == ["Anna", "Bob", "Rome"]
    for too_sure, calibrated in zip(before, after, strict=True):
        assert (too_sure.probability or 0) > (calibrated.probability or 1)


def test_ask_how_good_it_is_on_new_texts_and_what_to_annotate() -> None:
    multihash.calibrate("model", "dev.spacy", "calibrated")
    texts = [TEXT, "Oslo likes rain .", "Emil left New York .", "They met ."]
    expected = multihash.estimate("calibrated", texts)
    print(expected)  # precision, recall and F1, with intervals, in all and by label
    low, high = expected.overall.intervals["f1"]
    assert expected.f1 is not None and low < expected.f1 < high
    assert 0.2 < expected.f1 < 0.95  # a quarter of what it finds in dev is wrong
    first, second = multihash.next_texts("calibrated", texts, 2)
    assert first.expected_mistakes > 0 and first.doc.text != second.doc.text


def test_make_a_pipeline_of_spacy_faster() -> None:
    nlp = build({"ner": ner(CNN)})
    randomize(nlp.get_pipe("ner").model)  # type: ignore[attr-defined]
    nlp.to_disk("spacys")
    faster = multihash.accelerate("spacys", "faster", texts=[TEXT] * 9, seconds=1, loads=1)
    print(faster)  # what was replaced, and both speeds
    assert entities("spacys") == entities("faster") != []


def test_make_the_files_small() -> None:
    small = multihash.compress("model", "small", data="train.spacy", loads=1)
    print(small)  # the sizes, and what became of the predictions
    assert entities("small") == [("Anna", "PER"), ("Bob", "PER"), ("Rome", "GPE")]


def test_annotate_a_folder_of_texts() -> None:
    Path("texts").mkdir()
    for number in range(3):
        Path(f"texts/{number}.txt").write_text(f"{TEXT}\nBob left Rome .\n", "utf8")
    print(multihash.apply("model", "texts", "annotated"))  # workers=8 uses eight processes
    docs = DocBin().from_disk("annotated/0.spacy").get_docs(spacy.blank("en").vocab)
    found = [[ent.text for ent in doc.ents] for doc in docs]
    assert found == [["Anna", "Bob", "Rome"], ["Bob", "Rome"]]


def test_prepare_static_vectors() -> None:
    for seed in (1, 2):
        write_pipeline(Path(f"vectors{seed}"), random_vectors(seed=seed))
    multihash.merge_vectors(["vectors1", "vectors2"], Path("merged"), width=12)
    multihash.reduce_vectors("merged", Path("short"), width=6)
    small = multihash.prune_vectors("short", Path("small"), words=WORDS[:20])
    assert (small.vectors, small.width) == (20, 6)
    assert loaded(Path("small"), WORDS[:20]).shape == (20, 6)
