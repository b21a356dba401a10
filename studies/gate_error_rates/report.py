"""The error rates as tables: Markdown, also for the terminal, and JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.errors import UserError
from harness.gate.verdict import Exit
from studies.gate_error_rates.rates import ConditionResult, Effect, Rate
from studies.gate_error_rates.yardsticks import YARDSTICKS

SAME = (
    "condition",
    "calls",
    "disjoint",
    "regressed (exit 1)",
    "the same, this recording",
    "unstable (6)",
    "inconclusive (3)",
    "ok (0)",
)
SLOWER = (
    "condition",
    "measured effect",
    "calls",
    "disjoint",
    "regressed",
    "inconclusive",
    "ok",
    "unstable",
    "others regressed",
)

LEGEND = """\
* **Shares** are of all calls. The interval behind a share is the 95 % one of Clopper and Pearson
  over the *disjoint* calls, which share no process. The others begin again in the same recording,
  so they say nothing about another day.
* **The same, this recording**: where base is compared with itself, the coins alone decide what is
  called head. Given the recording, such calls are independent. That gives a narrower interval,
  which is true of this recording only.
* **Measured effect**: head over base over all recorded blocks of the arm, with its 95 % interval.
* **Others regressed**: calls that called a cell regressed into which nothing was injected.
* **Unstable**: calls that found the host unstable, and no cell regressed.
* **Rules of other tools** had the same samples: pytest-benchmark's `mean:5%`, a two-sided
  Mann-Whitney U test at 0.05, and Welch's t test at 0.05. None pairs processes or corrects for
  the number of cells. In the first table their share is of calls in which any cell is called
  slower, in the second of calls in which the injected cell is."""


@dataclass(frozen=True)
class Study:
    """The content of a report. `about`: a paragraph on how it was made; `key` names the section of
    a file that it replaces."""

    key: str
    title: str
    about: str
    rows: tuple[ConditionResult, ...]
    notes: tuple[str, ...] = ()


def markdown(study: Study) -> str:
    """Return the study's tables, and how to read them."""
    return f"{tables(study)}\n{LEGEND}\n"


def tables(study: Study) -> str:
    """Return the two tables, base against itself and injected work, and how they were made."""
    same = [row for row in study.rows if row.effect is None and row.wanted is None]
    slower = [row for row in study.rows if row not in same]
    parts = [f"### {study.title}", study.about]
    if same:
        parts += [
            "Base against itself:",
            _table([*SAME, *YARDSTICKS, "median s"], [_same(row) for row in same]),
        ]
    if slower:
        parts += [
            "Injected slowdowns in one cell:",
            _table([*SLOWER, *YARDSTICKS, "median s"], [_slower(row) for row in slower]),
        ]
    if study.notes:
        parts.append("\n".join(f"* {note}" for note in study.notes))
    return "\n\n".join(parts) + "\n"


def into(text: str, study: Study) -> str:
    """Return a file's text with the study in it: between the markers of its key, or at the end,
    with the legend, if there are none.

    Raises UserError if there is one marker without the other.
    """
    begin, end = f"<!-- selftest {study.key}: begin -->", f"<!-- selftest {study.key}: end -->"
    section = f"{begin}\n\n{tables(study)}\n{end}"
    if (begin in text) != (end in text) or text.find(begin) > text.find(end):
        raise UserError(f"--markdown: the file has not both markers, {begin!r} and then {end!r}")
    if begin not in text:
        parts = [text.rstrip(), section] if LEGEND in text else [text.rstrip(), LEGEND, section]
        return "\n\n".join(parts).lstrip() + "\n"
    before, rest = text.split(begin, 1)
    return before + section + rest.split(end, 1)[1]


def plain(study: Study) -> dict[str, Any]:
    """Return every number behind the tables, for JSON; exits by their names."""
    return {
        "key": study.key,
        "title": study.title,
        "about": study.about,
        "notes": list(study.notes),
        "rows": list(map(_row, study.rows)),
    }


def _row(row: ConditionResult) -> dict[str, Any]:
    exits = {code.name.lower(): _plain_rate(rate) for code, rate in row.exits.items()}
    return {
        "condition": row.condition,
        "calls": row.calls,
        "disjoint": row.disjoint,
        "exits": exits,
        "verdicts": _plain_rates(row.verdicts),
        "others_regressed": _plain_rate(row.others_regressed),
        "yardsticks": _plain_rates(row.yardsticks),
        "median_s": None if math.isnan(row.median_s) else row.median_s,
        "wanted": row.wanted,
        "effect": _plain_effect(row.effect),
    }


def _plain_effect(effect: Effect | None) -> dict[str, Any] | None:
    if effect is None:
        return None
    return asdict(effect) | {"high": None if math.isinf(effect.high) else effect.high}


def _plain_rates(rates: Mapping[str, Rate]) -> dict[str, Any]:
    return {name: _plain_rate(rate) for name, rate in rates.items()}


def _plain_rate(rate: Rate) -> dict[str, Any]:
    return {
        "count": rate.count,
        "calls": rate.calls,
        "interval": list(rate.interval),
        "in_recording": list(rate.in_recording),
    }


def _same(row: ConditionResult) -> list[str]:
    alarms = row.false_alarms
    exits = [_rate(row.exits[code]) for code in (Exit.HOST_UNSTABLE, Exit.INCONCLUSIVE, Exit.OK)]
    within = f"[{_ends(alarms.in_recording)}]" if row.calls else "-"
    return [
        row.condition,
        str(row.calls),
        str(row.disjoint),
        _rate(alarms),
        within,
        *exits,
        *_others(row),
    ]


def _slower(row: ConditionResult) -> list[str]:
    shown = [_rate(row.verdicts[word]) for word in ("regressed", "inconclusive", "ok", "unstable")]
    effect = _effect(row.effect, row.wanted)
    return [
        row.condition,
        effect,
        str(row.calls),
        str(row.disjoint),
        *shown,
        _rate(row.others_regressed),
        *_others(row),
    ]


def _others(row: ConditionResult) -> list[str]:
    return [
        *(_rate(rate) for rate in row.yardsticks.values()),
        "-" if math.isnan(row.median_s) else f"{row.median_s:.0f}",
    ]


def _rate(rate: Rate) -> str:
    return f"{100 * rate.share:.1f} % [{_ends(rate.interval)}]" if rate.calls else "-"


def _ends(interval: Sequence[float]) -> str:
    return ", ".join(f"{100 * end:.1f}" for end in interval)


def _effect(effect: Effect | None, wanted: float | None) -> str:
    if effect is None:
        return "-" if wanted is None else f"{wanted:g} (made)"
    return f"{effect.ratio:.4f} [{effect.low:.4f}, {effect.high:.4f}]"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
