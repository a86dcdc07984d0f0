"""Every option of every command applies always, or is refused where it has no effect."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import spacy
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc, DocBin

from spacy_multihash.cli.group import COMMANDS, load_command
from spacy_multihash.vectors.files import write_table
from tests.helpers import cli
from tests.helpers.vectors import make_table, random_vectors

# Options that always have an effect. "json", "force" and "verbose" change what's printed and what
# may be replaced; an option of a precision or of the work applies to whatever there is of it.
ALWAYS = {
    "accelerate": "code data force json name",
    "apply": "batch-size code dask force format json max-length workers",
    "calibrate": "bins code component force json plot",
    "compress": "code data force json keep-strings name tables vectors weights",
    "convert": "force format json lang split verbose",
    "corpus-stats": "attrs code dask json lang output vectors workers",
    "errors": "code export output train",
    "estimate": "code json",
    "evaluate": "code gpu-id ignore-case json masked match-label output train",
    "explain": "code component data json",
    "fit": "baseline code compress curve dev force gpu-id lang output package seed test textcat "
    "vectors",
    "init-config": "force lang train vectors",
    "init-tables": "code component force json max-rows min-freq shards",
    "inspect-tables": "code data json output",
    "restore": "code force json",
    "show": "code file json output",
    "vectors align": "code dictionary force json",
    "vectors merge": "code force json width",
    "vectors pca": "code drop-top force json keep-origin width words",
    "vectors prune": "attr code first force json words",
}
# Arguments with which an option has no effect. FOLDER stands for the folder of the files below.
REFUSED = {
    ("accelerate", "keep-ner"): "{0}/model {0}/out --keep-ner",
    ("accelerate", "keep-parser"): "{0}/model {0}/out --keep-parser",
    ("accelerate", "report"): "x y --report a.html",
    ("accelerate", "seconds"): "x y --seconds 3",
    ("convert", "seed"): "{0}/a.conll {0}/x.spacy --seed 1",
    ("convert", "group"): "{0}/a.conll {0}/x.spacy --group 2",
    ("convert", "docs"): "{0}/a.csv {0}/x.spacy --docs sentences",
    ("convert", "labels"): "{0}/tags.jsonl {0}/x.spacy --labels O",
    ("convert", "token-column"): "{0}/a.csv {0}/x.spacy --token-column 2",
    ("convert", "tag-column"): "{0}/a.jsonl {0}/x.spacy --tag-column 2",
    ("convert", "text-column"): "{0}/a.conll {0}/x.spacy --text-column x",
    ("convert", "label-column"): "{0}/a.jsonl {0}/x.spacy --label-column x",
    ("convert", "label-separator"): "{0}/a.jsonl {0}/x.spacy --label-separator /",
    ("convert", "offsets"): "{0}/cats.jsonl {0}/x.spacy --offsets utf16",
    ("corpus-stats", "ignore-case"): "{0}/bare.spacy --ignore-case",
    ("corpus-stats", "match-label"): "{0}/bare.spacy --match-label",
    ("corpus-stats", "force"): "{0}/gold.spacy --force",
    ("errors", "explain"): "x y --explain 3",
    ("errors", "sure"): "x y --sure 0.5",
    ("errors", "force"): "x y --force",
    ("errors", "json"): "x y --json --export prodigy",
    ("estimate", "export"): "x y --export doccano",
    ("estimate", "force"): "x y --force",
    ("estimate", "next"): "x y --next 3 --json a.json",
    ("estimate", "random"): "x y --random",
    ("evaluate", "force"): "x y --train z --force",
    ("explain", "file"): "x --file a --data y",
    ("explain", "span"): "x --span A=B --data y",
    ("explain", "window"): "x --window 3 --data y",
    ("explain", "max-entities"): "x --max-entities 3 --data y",
    ("explain", "output"): "x --output a.html --data y",
    ("explain", "force"): "x y --force",
    ("fit", "config"): "{0}/a.jsonl --config batch_ner --textcat -l xx -o {0}/out",
    ("fit", "group"): "{0}/a.jsonl --dev {0}/a.jsonl --test {0}/a.jsonl --group x -l xx -o {0}/out",
    ("fit", "max-size"): "{0}/a.jsonl --textcat --max-size 5M -l xx -o {0}/out",
    ("fit", "cross-validate"): "{0}/a.jsonl --dev {0}/a.jsonl --no-cross-validate -l xx -o {0}/out",
    ("init-config", "dev"): "ner {0}/x.cfg -l xx --dev {0}/gold.spacy",
    ("init-config", "max-size"): "ner {0}/x.cfg -l xx --max-size 5M",
    ("init-config", "train"): "textcat {0}/x.cfg -l xx --train {0}/gold.spacy",
    ("init-tables", "workers"): "{0}/a.csv {0}/x.tables --workers 2",
    ("init-tables", "dask"): "{0}/a.csv {0}/x.tables --dask tcp://x:1",
    ("inspect-tables", "force"): "x --force",
    ("show", "threshold"): "{0}/model text --threshold 0.5",
    ("show", "force"): "x text --force",
    ("vectors align", "lang"): "{0}/a.vec {0}/b.vec {0}/out.vec --lang nl",
    ("vectors merge", "lang"): "{0}/a.vec {0}/b.vec {0}/out.vec --width 2 --lang nl",
    ("vectors pca", "lang"): "{0}/a.vec {0}/out.vec --width 2 --lang nl",
    ("vectors prune", "lang"): "{0}/a.vec {0}/out.vec --words {0}/words.txt --lang nl",
}


def commands() -> Iterator[tuple[str, Any]]:
    for name in COMMANDS:
        command = load_command(name)
        yield from (
            ((f"{name} {part}", each) for part, each in command.commands.items())
            if hasattr(command, "commands")
            else [(name, command)]
        )


def test_every_option_is_in_a_list() -> None:
    given = set()
    for name, command in commands():
        for param in command.params:
            if param.opts[0].startswith("--") and param.name != "help":
                given.add((name, param.opts[0][2:]))
    listed = {(name, option) for name, options in ALWAYS.items() for option in options.split()}
    assert given - listed - {*REFUSED} == set()
    assert listed | {*REFUSED} <= given


@pytest.mark.parametrize("option", ["--workers", "--batch-size", "--max-length"])
def test_commands_have_the_ranges_of_their_functions(option: str) -> None:
    assert "Invalid value" in cli.refused("apply", "model", "texts", "out", option, "0")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("options")
    nlp = spacy.blank("xx")
    cast(TrainablePipe, nlp.add_pipe("textcat")).add_label("A")
    cast(TrainablePipe, nlp.get_pipe("textcat")).add_label("B")
    nlp.initialize()
    nlp.to_disk(folder / "model")
    for name, doc in (
        ("gold", Doc(nlp.vocab, words=["Anna"], ents=["B-PER"])),
        ("bare", Doc(nlp.vocab, words=["Anna"])),
    ):
        DocBin(docs=[doc]).to_disk(folder / f"{name}.spacy")
    for name, content in {
        "a.conll": "Anna B-PER\n",
        "a.csv": "text,label\na,x\nb,y\n",
        "a.jsonl": '{"text": "Anna", "spans": [{"start": 0, "end": 4, "label": "PER"}]}\n',
        "cats.jsonl": '{"text": "a", "label": "x"}\n{"text": "b", "label": "y"}\n',
        "tags.jsonl": '{"tokens": ["Anna"], "ner_tags": ["B-PER"]}\n',
        "words.txt": "a\n",
    }.items():
        (folder / name).write_text(content)
    for name in "ab":
        write_table(folder / f"{name}.vec", make_table(random_vectors(5), [*"abcde"]))
    return folder


@pytest.mark.parametrize("case", REFUSED, ids=" ".join)
def test_an_option_without_effect_is_refused(folder: Path, case: tuple[str, str]) -> None:
    error = cli.refused(*case[0].split(), *REFUSED[case].format(folder).split())
    assert case[1].replace("-", "") in error.replace("-", "").replace("_", "")
    assert "Leave" in error
