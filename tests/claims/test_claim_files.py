"""The papers' files are complete and consistent with the experiments; whatever is wrong with one is told in a line."""

from __future__ import annotations

import json
import re
from dataclasses import MISSING, fields, replace

import pytest
import yaml

from harness.checked_yaml import SCHEMAS
from harness.claims.claim import PAPERS, chosen, experiments, papers, read_paper
from harness.claims.evaluate import Verdict, evaluate
from harness.claims.predicates import PREDICATES
from harness.claims.quantities import QUANTITIES
from harness.config import ROOT, load_config
from harness.errors import UserError
from tests.claims.made import LOCAL, arm, periods, tables, throughput

CLAIMS = [claim for paper in papers().values() for claim in paper.claims]
CHECKED = [claim for claim in CLAIMS if claim.check is not None]


def by_id(claim):
    return claim.id


def test_claims_are_many_and_each_has_its_own_name():
    assert len(CHECKED) >= 70
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS, ids=by_id)
def test_a_claim_is_a_sentence_and_either_checked_or_explained(claim):
    assert claim.statement.endswith(".")
    assert claim.id.startswith({"P17": "p17-", "M19": "m19-", "ELB": "elb-"}[claim.paper])
    assert (claim.check is None) == bool(claim.not_testable)
    assert claim.check is None or claim.cells


@pytest.mark.parametrize(
    "section", ["1", "3.1.1", "3.2", "3.3", "4.1", "4.2", "4.3", "4.4", "Figure 1", "Figure 9", "Figure 13"]
)
def test_every_section_of_m19_with_claims_has_some(section):
    assert any(section in re.split(", | and ", claim.section) for claim in CLAIMS if claim.paper == "M19")


@pytest.mark.parametrize("section", ["2.2", "3", "4.1", "4.2.2", "4.2.3", "5", "5.1", "5.2", "5.3", "5.4", "6", "7", "slides"])
def test_every_section_with_claims_has_some(section):
    assert any(section in re.split(", ", claim.section) for claim in CLAIMS if claim.paper == "P17")


@pytest.fixture(scope="module")
def paper_profile():
    """Of each experiment of the paper profile: the parameters of its cells, and the names of its arms."""
    config = load_config(ROOT / "config/paper.yaml")
    found = {}
    for experiment in config.experiments:
        blocks = experiment.blocks()
        cells = [{"topology": each.cell.topology} | {k: str(v) for k, v in each.cell.parameters.items()} for each in blocks]
        found[experiment.name] = cells, {arm.name for block in blocks for arm in block.arms}
    return found


MAY_LACK = {"p17-5.4-power8-oscillates", "p17-5.4-power8-oscillation-range", "p17-5.4-power8-noise"}
"""Claims about Power8 alone at another cost than Xeon's: their cell is there as far as experiments differ by machine."""


@pytest.mark.parametrize("claim", CHECKED, ids=by_id)
def test_its_experiments_have_its_cells(claim, paper_profile):
    for wanted in claim.cells:
        cells, _ = paper_profile[wanted.experiment]
        asked = wanted.parameters.items() | wanted.sizes.items()
        assert claim.id in MAY_LACK or any(asked <= cell.items() for cell in cells), wanted.name


@pytest.mark.parametrize("claim", CHECKED, ids=by_id)
def test_its_experiments_have_its_arms(claim, paper_profile):
    words = set(
        re.findall(r"'(manual|dedicated|elastic|static-\d+|static|multilevel[\w-]*|shares|share-\d+)'", repr(claim.check))
    )
    for wanted in claim.cells:
        _, arms = paper_profile[wanted.experiment]
        for word in words:
            named = {"elastic": "dynamic-elastic", "static": "dynamic-1", "shares": "share-50"}.get(word, word)
            named = re.sub("^static-", "dynamic-", re.sub("^share-(.*)", r"dynamic-elastic-queued-\1pct", named))
            assert any(arm.startswith(named) for arm in arms), (word, wanted.experiment)


@pytest.mark.parametrize("name", ["m19-3.3-factor-of-zero", "m19-4.1-fewer-threads"])
def test_what_is_said_to_be_less_is_not_reproduced_if_it_is_the_same(name):
    (asked,) = chosen([name])
    wanted = asked.cells[0]
    topology, *parameters = wanted.parameters.items()
    cell = ",".join([topology[1], *(f"{key}={value}" for key, value in parameters)])
    arms = ("multilevel-middleware19", "multilevel-middleware19-satisfied", "dynamic-elastic")
    rows = [arm(each, 10, half=0, level=4.0, level_lo=4.0, level_hi=4.0) for each in arms]
    runs = [
        periods([1, 2, 4, *[4] * 12], arm=each, cell=cell, experiment=wanted.experiment, queued_ports=[0.0] * 15)
        for each in arms
    ]
    held = tables(throughput({cell: rows}, LOCAL, wanted.experiment), timeline=runs)
    *_, result = evaluate([replace(asked, cells=(wanted,))], held)
    assert result.verdict is Verdict.NOT_REPRODUCED


def test_the_experiments_of_all_claims_are_known():
    known = {path.stem for path in (ROOT / "config/experiments").glob("*.yaml")}
    assert set(experiments()) <= known
    assert len(experiments()) == 13


def test_the_schema_and_the_predicates_agree():
    schema = json.loads((SCHEMAS / "claims.schema.json").read_text(encoding="utf-8"))["$defs"]
    assert set(schema["check"]["properties"]["predicate"]["enum"]) == set(PREDICATES)
    rules = {}
    for branch in schema["check"]["allOf"]:
        condition = branch["if"]["properties"]["predicate"]
        for name in condition.get("enum", [condition.get("const")]):
            rules[name] = schema[branch["then"]["$ref"].rsplit("/", 1)[1]]
    for name, kind in PREDICATES.items():
        assert set(rules[name]["properties"]) - {"predicate"} == {field.name for field in fields(kind)}
        assert set(rules[name]["required"]) == {field.name for field in fields(kind) if field.default is MISSING}


def test_every_quantity_is_used_or_told_in_the_documentation():
    text = (ROOT / "docs/claims.md").read_text(encoding="utf-8")
    assert [name for name in QUANTITIES if f"`{name}`" not in text] == []
    assert [name for name in PREDICATES if f"`{name}`" not in text] == []


def test_claims_are_chosen_by_paper_and_name():
    assert {claim.paper for claim in chosen(paper="ELB")} == {"ELB"}
    assert len(chosen()) == len(CLAIMS)
    assert [claim.id for claim in chosen(["p17-5.3-manual-worst", "p17-4.1-order"])] == [
        "p17-4.1-order",
        "p17-5.3-manual-worst",
    ]


def test_every_paper_has_a_file():
    assert set(papers()) == set(PAPERS)


GOOD = {
    "id": "p17-5.1-x",
    "section": "5.1",
    "machines": ["xeon"],
    "statement": "Something.",
    "experiment": "pldi17_fig9",
    "cells": [{"topology": "pipeline", "cost": 1}],
    "check": {"predicate": "best", "arm": "manual", "against": ["dedicated"]},
}


def written(tmp_path, *claims, **top):
    document = {"paper": "P17", "title": "A title", "claims": list(claims)} | top
    path = tmp_path / "paper.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return path


def changed(**keys):
    """The good claim with other keys; None takes one away."""
    return {key: value for key, value in (GOOD | keys).items() if value is not None}


def test_a_good_file_is_read(tmp_path):
    [claim] = read_paper(written(tmp_path, GOOD, sizes={"pipeline": {"operators": 1000}})).claims
    [cell] = claim.cells
    assert (cell.parameters, cell.sizes) == ({"topology": "pipeline", "cost": "1"}, {"operators": "1000"})
    assert str(claim.check) == "throughput of manual is above that of dedicated"


def test_lists_of_parameters_are_swept(tmp_path):
    cells = [{"topology": ["pipeline", "mix"], "cost": [1, 100]}]
    with pytest.raises(UserError):
        read_paper(written(tmp_path, changed(cells=cells)))
    [claim] = read_paper(written(tmp_path, changed(cells=[{"topology": "mix", "cost": [1, 100], "payload": [1, 2]}]))).claims
    assert [cell.name for cell in claim.cells] == [f"mix, cost {c}, payload {p}" for c in (1, 100) for p in (1, 2)]


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        ({"id": "P17 X"}, "claims[0].id: must be words of lower-case letters, digits and dots, joined by -, not 'P17 X'"),
        (
            {"machines": ["vax"]},
            "claims[0].machines[0]: must be xeon, xeon:16, xeon:64, xeon:88, power8, 16-core or 4-core, not 'vax'",
        ),
        ({"statment": "x"}, "claims[0].statment: unknown key; did you mean 'statement'?"),
        ({"check": None}, "claims[0]: must have one of check and not_testable, not 'p17-5.1-x'"),
        ({"not_testable": "why"}, "claims[0]: must have one of check and not_testable, not 'p17-5.1-x'"),
        ({"cells": None}, "claims[0].cells: missing key"),
        ({"experiment": None}, "claims[0].experiment: missing key"),
        (
            {"cells": [{"topology": "mix", "machine": "power8"}]},
            "claims[0].cells[0].machine: must be one of the claim's machines",
        ),
        (
            {"cells": [{"topology": "mix", "machine": "xeon"}, {"topology": "mix"}]},
            "claims[0].cells: must name a machine in all cells or in none, not 1",
        ),
        (
            {"check": {"predicate": "bestest"}},
            "claims[0].check.predicate: must be best, worst, not_worst, order, ratio, somewhere, within,",
        ),
        ({"check": {"predicate": "best", "arm": "manual"}}, "claims[0].check.against: missing key"),
        (
            {"check": {"predicate": "best", "arm": "fastest", "against": ["manual"]}},
            "claims[0].check.arm: must be manual, dedicated, elastic, static, static-N, multilevel, multilevel-LAW,",
        ),
        (
            {"check": {"predicate": "within", "arms": ["static"], "quantity": "best_levl", "at_most": 1}},
            "claims[0].check.quantity: must be a known quantity, not 'best_levl'; did you mean 'best_level'?",
        ),
        (
            {"check": {"predicate": "ratio", "over": {"arm": "static", "quantity": "x"}, "under": "manual", "at_most": 1}},
            "claims[0].check.quantity: must be a known quantity, not 'x'",
        ),
        (
            {"check": {"predicate": "ratio", "over": {"arm": "static", "cell": 1}, "under": "manual", "at_most": 1}},
            "claims[0].check.cell: must be below the number of cells, 1, not 1",
        ),
        (
            {"check": {"predicate": "ratio", "over": "static", "under": "manual"}},
            "claims[0].check: must have at_least or at_most",
        ),
        (
            {"check": {"predicate": "rising", "up_to": 64, "tolerance": 2}},
            "claims[0].check.tolerance: must be 1 or less, not 2",
        ),
        ({"check": {"predicate": "rising", "up_to": 64, "code": "1"}}, "claims[0].check.code: unknown key"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(tmp_path, keys, answer):
    path = written(tmp_path, changed(**keys))
    with pytest.raises(UserError) as told:
        read_paper(path)
    assert str(told.value).startswith(f"{path}: {answer}"), told.value
    assert "\n" not in str(told.value)


def test_a_name_given_twice_is_refused(tmp_path):
    with pytest.raises(UserError, match=re.escape("claims[1].id: must not be given twice, not 'p17-5.1-x'")):
        read_paper(written(tmp_path, GOOD, GOOD))
