"""The tables of what batch_ner finds."""

from experiments.tables.recognizer import render_candidates, render_equality


def counts(entities: int, near_ties: int) -> dict:
    return {"entities": entities, "near_ties": [{}] * near_ties}


def test_data_sets_are_counted_with_presets_and_without_and_summed() -> None:
    datasets = {
        "wnut17": {"docs": 5, "tokens": 1000, "free": counts(30, 0), "preset": counts(40, 1)},
        "archaeo": {"docs": 6, "tokens": 2000, "free": counts(50, 2), "preset": counts(60, 0)},
    }
    lines = render_equality({"datasets": datasets}).splitlines()
    assert lines[0] == (
        "| data set | docs | tokens | entities | near-ties | entities, with presets "
        "| near-ties, with presets |"
    )
    assert lines[2:] == [
        "| wnut17 | 5 | 1,000 | 30 | 0 | 40 | 1 |",
        "| archaeo | 6 | 2,000 | 50 | 2 | 60 | 0 |",
        "| all | 11 | 3,000 | 80 | 2 | 100 | 1 |",
    ]


def test_recall_is_the_share_of_gold_boundaries() -> None:
    thresholds = [
        {"candidates_above": None, "spans": 1017, "boundaries": 1016, "found": 25},
        {"candidates_above": 0.05, "spans": 2000, "boundaries": 1500, "found": 40},
    ]
    lines = render_candidates({"gold": 50, "thresholds": thresholds}).splitlines()
    assert lines[2:] == [
        "| null: `doc.ents` | 1,017 | 1,016 | 50 % |",
        "| 0.05 | 2,000 | 1,500 | 80 % |",
    ]


def test_tables_of_nothing_have_their_headers() -> None:
    assert len(render_equality({}).splitlines()) == len(render_candidates({}).splitlines()) == 2
