"""The report, as golden text; and as a page that needs nothing from elsewhere."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from harness.claims import page, report
from harness.claims.claim import Claim, Paper
from harness.claims.evaluate import evaluate
from harness.claims.evidence import Shown, Wanted
from harness.claims.predicate import Term
from harness.claims.predicates import Best, Ratio, Within
from harness.claims.reading import RangedNumber, of_runs
from tests.claims.made import FIG9, LOCAL, XEON, arm, cell_name, tables, throughput

CELLS = tuple(
    Wanted(FIG9, {"topology": "pipeline", "cost": cost}, {"operators": "1000"})
    for cost in ("1", "9", "1000")
)

CLAIMS = [
    Claim(
        "p17-5.1-x",
        "P17",
        "5.1",
        ("16-core",),
        "Dedicated is <best> of all.",
        reading="In every cell.",
        note="The paper says | so.",
        check=Best("dedicated", ("manual",)),
        cells=CELLS,
        elsewhere=True,
    ),
    Claim(
        "p17-3-y", "P17", "3", ("16-core",), "Something else.", not_testable="there is no such arm."
    ),
]

PAPERS = {"P17": Paper("P17", "Authors, A title", CLAIMS, ("§1 says one thing, §2 another.",))}


@pytest.fixture
def results(monkeypatch):
    """On 8 CPUs: it holds at cost 1, not at 9, where a run failed; cost 1,000 is missing."""
    for module in (report, page):
        monkeypatch.setattr(module, "papers", lambda: PAPERS)
    arms = {
        "1": [arm("dedicated", 2_180_000, half=90_000), arm("manual", 451, half=1)],
        "9": [arm("dedicated", 12.5, half=0.5, failed=1), arm("manual", 30)],
    }
    held = {cell_name(operators=10, cost=cost): rows for cost, rows in arms.items()}
    return evaluate(CLAIMS, tables(throughput(held, LOCAL)))


GOLDEN = """\
| paper | machine | claims | reproduced | reproduced at a smaller size | reproduced in part | not reproduced | undecided | no data \
| shapes reproduced | sizes reproduced | flips within the band | never settled |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| P17 | 16-core (any with 16 logical CPUs) | 1 | 0 | 0 | 0 | 0 | 0 | 1 | 0 of 0 | 0 of 0 |  | 0 |
| P17 | local (measured), beside | 1 | 0 | 0 | 0 | 0 | 1 | 0 | 0 of 0 | 0 of 0 |  | 0 |

Not testable at all: 1 of P17.
"""

GOLDEN_CLAIM = """\
## P17

*Authors, A title*

Where its text is at odds with itself:

- §1 says one thing, §2 another.

### p17-5.1-x

**P17 §5.1** (16-core). Dedicated is <best> of all.

*Read as:* In every cell.

*Note:* The paper says | so.

*Check:* throughput of dedicated is above that of manual.

- **16-core (any with 16 logical CPUs): no data**: the tables do not hold 16-core

- beside: **local (measured): undecided**: no cell pipeline, cost 1000 in pldi17_fig9
  - pipeline, cost 1, 10 operators (paper: 1000): holds
  - pipeline, cost 9, 10 operators (paper: 1000): fails at these values, open within the ranges

  | cell | arm | quantity | value | range | runs |
  | --- | --- | --- | ---: | ---: | ---: |
  | pipeline, cost 1, 10 operators (paper: 1000) | dedicated | throughput [tuples/s] | 2.18 M | 2.09 M … 2.27 M | 3 |
  | pipeline, cost 1, 10 operators (paper: 1000) | manual | throughput [tuples/s] | 451 | 450 … 452 | 3 |
  | pipeline, cost 9, 10 operators (paper: 1000) | dedicated (1 of 4 runs failed) | throughput [tuples/s] | 12.5 | 12 … 13 | 3 |
  | pipeline, cost 9, 10 operators (paper: 1000) | manual | throughput [tuples/s] | 30 | one run: no interval | 3 |

### P17: not testable (1)

| claim | § | statement | why not |
| --- | --- | --- | --- |
| p17-3-y | 3 | Something else. | there is no such arm. |
"""


def test_the_markdown_is_as_expected(results):
    text = report.markdown(results)
    assert text.startswith(f"# {report.TITLE}\n\n")
    assert text.index(GOLDEN) < text.index("- **reproduced**: the check holds in every cell.")
    assert text.endswith("\n\n" + GOLDEN_CLAIM)


def test_the_json_has_every_result_with_its_numbers(results):
    document = json.loads(json.dumps(report.document(results)))
    own, beside, untested = document["results"]
    assert (own["id"], own["verdict"], own["why"]) == (
        "p17-5.1-x",
        "no data",
        "the tables do not hold 16-core",
    )
    assert (beside["machine"], beside["beside"], beside["verdict"]) == (
        "local (measured)",
        True,
        "undecided",
    )
    assert beside["cells"][0] == {
        "cell": "pipeline, cost 1, 10 operators (paper: 1000)",
        "holds": True,
        "throughout": True,
        "missing": None,
    }
    assert beside["cells"][2]["missing"] == "no cell pipeline, cost 1000 in pldi17_fig9"
    assert beside["numbers"][0]["value"] == 2_180_000
    assert beside["numbers"][0]["unit"] == "tuples/s"
    assert beside["numbers"][3]["high"] is None  # one run: no limit, and JSON has no infinity
    assert (untested["verdict"], untested["check"], untested["machine"]) == (
        "not testable",
        None,
        None,
    )
    assert document["summary"][1]["undecided"] == 1


class Page(HTMLParser):
    """Collects what a page would load, its texts, and the elements that were never closed."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.open: list[str] = []
        self.viewport = ""
        self.text = ""

    def handle_starttag(self, tag, attributes):
        self.loads += [value for name, value in attributes if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)
        elif dict(attributes).get("name") == "viewport":
            self.viewport = dict(attributes)["content"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_page_needs_nothing_from_elsewhere_and_closes_what_it_opens(results):
    read = Page()
    read.feed(page.html(results))
    assert read.loads == []
    assert read.open == []
    assert read.viewport == "width=device-width, initial-scale=1"  # of a phone
    assert "http" not in read.text


def test_the_page_says_what_the_markdown_says(results):
    read = Page()
    read.feed(page.html(results))
    said = " ".join(read.text.split())
    for words in (
        "Dedicated is <best> of all.",
        "16-core (any with 16 logical CPUs): no data",
        "local (measured): undecided",
        "beside: the claim is not about this machine",
        "pipeline, cost 1, 10 operators (paper: 1000): holds",
        "dedicated (1 of 4 runs failed)",
        "one run: no interval",
        "§1 says one thing, §2 another.",
        "there is no such arm.",
        "Flips within the band",
    ):
        assert words in said, words
    assert "<best>" not in page.html(results)


def test_a_page_of_the_real_claims_is_well_formed():
    from harness.claims.claim import chosen

    held = tables(throughput({cell_name(): [arm("manual", 1)]}, LOCAL))
    read = Page()
    read.feed(page.html(evaluate(chosen(), held)))
    assert read.open == []


def test_a_summary_counts_what_flips_on_simulated_machines_only(results):
    flips = [line.flips for line in report.summary(results)]
    assert flips == [None, None]
    simulated = [replace(result, simulated=True) for result in results]
    assert [line.flips for line in report.summary(simulated)] == [0, 0]


def test_a_verdict_on_runs_that_never_settled_says_so(monkeypatch):
    arms = [arm("dedicated", 20, half=1, unsettled=3), arm("manual", 10, half=1)]
    held = tables(throughput({cell_name(operators=10, cost="1"): arms}, LOCAL))
    [_, beside] = evaluate(CLAIMS[:1], held)
    assert not beside.is_settled
    assert report.headline(beside) == (
        "reproduced in part (at a smaller size than the paper's; rests on runs that never settled)"
    )
    assert [line.unsettled for line in report.summary([beside])] == [1]
    assert report.document([beside])["results"][0]["settled"] is False


@pytest.mark.parametrize(
    ("value", "text"),
    [(1_234_567, "1.23 M"), (999_600, "1 M"), (451, "451"), (1000, "1 k"), (0.0451, "0.0451"), (0, "0"), (2e9, "2 G"),
     (999.4, "999"), (math.inf, "∞")],
)  # fmt: skip
def test_numbers_have_three_digits(value, text):
    assert report.number(value) == text


@pytest.mark.parametrize(
    ("reading", "text"),
    [
        (RangedNumber(1, 0.5, 2), "0.5 … 2"),
        (RangedNumber(1, 0, math.inf), "one run: no interval"),
        (RangedNumber(1, 1, 1, is_varied=False), "no band"),
        (RangedNumber(9, 9, math.inf, is_open=True), "9 … ∞: a run ended too soon"),
        (of_runs([3.0]), "one run: no interval"),
        (of_runs([4.0, 4.1, 4.2]), "3.86 … 4.36"),
    ],
)
def test_a_range_says_what_it_is(reading, text):
    assert report.range_of(reading) == text


def test_a_claim_about_a_size_says_how_far_off_its_ratio_is():
    check = Ratio(Term("dedicated"), Term("manual"), at_least=4, at_most=5)
    claim = replace(CLAIMS[0], machines=("xeon",), check=check, cells=CELLS[:1])
    held = tables(throughput({cell_name(): [arm("dedicated", 20), arm("manual", 10)]}, XEON))
    [result] = evaluate([claim], held)
    head, rows = report.number_table(result)
    assert head[-1] == "how far off"
    assert {row[2]: row[-1] for row in rows} == {
        "throughput [tuples/s]": "",
        "ratio": "0.5 times 4",
    }
    numbers = report.document([result])["results"][0]["numbers"]
    assert {each["quantity"]: each["times_the_limit"] for each in numbers} == {
        "throughput": None,
        "ratio": 0.5,
    }
    assert "how far off" in report.markdown([result])
    assert "0.5 times 4" in page.html([result])


def level(value: float, *ends: float) -> Shown:
    """A level, or the levels of several runs from one end to the other."""
    parts = tuple(RangedNumber(end, end, end) for end in ends)
    return Shown("a cell", "elastic", "final level", "threads", RangedNumber(value, 1, 9, 3, parts))


@pytest.mark.parametrize(
    ("shown", "limit", "times"),
    [
        (level(8), None, 1),
        (level(26), 13, 2),
        (level(3), 6, 0.5),
        (level(16, 6, 26), 13, 2),  # the worst run counts
        (level(8, 3, 13), 6, 0.5),
        (level(14, 2, 26), 6, 1 / 3),
        (level(21, 3, 39), 13, 3),
    ],
)
def test_a_number_beyond_a_limit_is_a_multiple_of_it(shown, limit, times):
    claim = replace(CLAIMS[0], check=Within(("elastic",), "final_level", at_least=6, at_most=13))
    assert report.beyond(claim, shown) == report.Beyond(limit, pytest.approx(times))


def test_a_number_within_the_limits_and_one_above_zero_say_so():
    assert report._how_far(report.Beyond(None, 1)) == "within"
    claim = replace(CLAIMS[0], check=Within(("x",), "final_level", at_most=0))
    assert report._how_far(report.beyond(claim, level(3))) == "∞ times 0"


def test_a_limit_for_each_cpu_is_no_limit_of_the_number():
    claim = replace(CLAIMS[0], check=Within(("x",), "load", at_least=2, per_cpu=True))
    assert report.beyond(claim, level(1)) is None


def test_an_open_number_is_not_off():
    claim = replace(CLAIMS[0], check=Within(("x",), "final_level", at_least=2))
    shown = replace(level(1), reading=RangedNumber(1, 1, math.inf, is_open=True))
    assert report.beyond(claim, shown) is None


def test_a_listing_has_a_line_a_claim():
    lines = report.listing(CLAIMS).splitlines()
    assert re.sub(" +", " ", lines[0]) == "p17-5.1-x P17 §5.1 16-core Dedicated is <best> of all."
    assert lines[2] == "2 claims, 1 of them not testable"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "of harness/claims/*.yaml, and *this* is stressed",
            "of harness/claims/*.yaml, and <em>this</em> is stressed",
        ),
        ("3 * 4 is not 3*4 but *two words*: here", "3 * 4 is not 3*4 but <em>two words</em>: here"),
        ("*Begin* a * and *end*", "<em>Begin</em> a * and <em>end</em>"),
    ],
)
def test_only_words_between_stars_are_stressed(text, shown):
    assert page._prose(text) == f"<p>{shown}</p>"
