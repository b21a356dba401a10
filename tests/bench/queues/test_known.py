"""Oracles' answers are kept, and none is taken for that of another question."""

from __future__ import annotations

import pytest

from harness.bench.queues import known
from harness.bench.queues.known import best_known
from harness.bench.queues.oracle import BestPlacement
from harness.files.places import CODE as ROOT

ANSWER = BestPlacement(1234.5678901234567, 3, frozenset((1, 4)))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(known, "FOLDER", tmp_path / "oracles")
    return tmp_path / "oracles"


def never():
    raise AssertionError("asked again")


def test_an_answer_is_worked_out_once():
    assert best_known("question", lambda: ANSWER) == ANSWER
    assert best_known("question", never) == ANSWER


def test_another_question_has_another_answer():
    best_known("question", lambda: ANSWER)
    other = BestPlacement(1.0, 1, frozenset())
    assert best_known("other question", lambda: other) == other


def test_other_code_is_another_question(monkeypatch):
    best_known("question", lambda: ANSWER)
    monkeypatch.setattr(known, "_code_digest", lambda: "changed")
    with pytest.raises(AssertionError, match="asked again"):
        best_known("question", never)


def test_answers_depend_on_graphs_and_profiles_that_scenarios_name_and_on_no_law():
    read = {file.relative_to(ROOT).as_posix() for file in known.answer_files()}
    assert {
        "topologies/pipeline.py",
        "harness/applications/login_failures.py",
        "harness/graph/builder.py",
    } <= read
    assert {"config/machines/xeon.yaml", "config/software/streams-4.2.yaml"} <= read
    assert (
        not {
            "topologies/chain.py",
            "config/machines/power8.yaml",
            "harness/elasticity/queues/millrace.py",
        }
        & read
    )


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"throughput": "x", "threads": 1, "queued": []}']
)
def test_a_file_that_is_no_answer_is_written_anew(folder, text):
    best_known("question", lambda: ANSWER)
    (file,) = folder.iterdir()
    file.write_text(text)
    assert best_known("question", lambda: ANSWER) == ANSWER
    assert best_known("question", never) == ANSWER


def test_where_nothing_can_be_written_it_is_worked_out(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(known, "FOLDER", tmp_path / "file" / "oracles")
    assert best_known("question", lambda: ANSWER) == ANSWER
