"""Report of a validation in Markdown: a line for each case, errors by group and beside naive
baselines, the order of the models, the verdict.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from harness.measurement.rank_interval import coverage, rank
from harness.validation.baselines import BASELINES, BesideBaseline, beside
from harness.validation.cases import PREDICTIONS, cell_name, number_name
from harness.validation.comparison import (
    DISTURBED_SHARE,
    MEDIAN_TARGET,
    STABLE_INTERVAL,
    WORST_TARGET,
    CaseComparison,
    Errors,
    errors_by,
)
from harness.validation.order import (
    MIN_ORDERED_DIFFERENCE,
    SAFE_SHARE,
    Pair,
    SafeRatio,
    safe_ratio_by_cost,
)
from harness.validation.verdict import SessionVerdict, judge

ROW_HEADINGS = (
    "topology",
    "cost",
    "payload",
    "arm",
    "measured",
    "interval",
    "predicted",
    "error",
    *BASELINES,
    "remarks",
)
ERROR_HEADINGS = ("by", "value", "cases", "median", "worst", "bias", f"within {MEDIAN_TARGET:.0%}")
ORDER_HEADINGS = ("cell", "faster", "slower", "measured", "predicted", "remarks")
RATIO_HEADINGS = ("by", "value", "pairs", f"{SAFE_SHARE:.0%} within")


def report(
    comparisons: Sequence[CaseComparison], constants: Mapping[str, float] | None = None
) -> str:
    """Return the whole report. `constants`: those that were measured between the runs and replaced
    the profile's.
    """
    verdict = judge(comparisons)
    parts = [
        "## Throughput at the sinks [tuples/s]",
        table(ROW_HEADINGS, [_row(each) for each in comparisons], left=4),
    ]
    parts.append(_note(comparisons, constants or {}))
    grouped = errors_by(comparisons)
    if grouped:
        parts += [
            "## Errors",
            table(ERROR_HEADINGS, [_errors_row(*row) for row in grouped], left=2),
            ERRORS_NOTE,
        ]
    parts += _beside_baselines(comparisons)
    if verdict.wrong:
        parts += [
            "## Wrong order",
            table(ORDER_HEADINGS, [_pair_row(pair) for pair in verdict.wrong], left=3),
        ]
    parts += _ratios(comparisons)
    parts += ["## Verdict", "\n".join(_verdict_lines(verdict))]
    return "\n\n".join(parts) + "\n"


DOUBTFUL_WORDS = (
    "unstable, disturbed, of another state of the machine, or with runs or predictions "
    "that never settled"
)

ERRORS_NOTE = (
    "Error: predicted over measured, less 1. Median and worst are of its absolute "
    "value, bias is its own median."
)

BASELINES_NOTE = (
    "Median and worst absolute error, over the cases that both predict. Bottleneck: the rate that "
    "the operators' own work and the threads of the model allow, if queues, locks and copies were "
    "free. USL: the universal scalability law, from the measured throughput of one thread and the "
    "loss of two in the other cases of that cost."
)


def _beside_baselines(comparisons: Sequence[CaseComparison]) -> list[str]:
    """Return the errors of the simulator beside those of each baseline, by regime."""
    parts = []
    for name in BASELINES:
        rows = [_beside_row(row) for row in beside(comparisons, name)]
        headings = ("by", "value", "cases", "simulator", "worst", name, "worst")
        parts += [table(headings, rows, left=2)] if rows else []
    return ["## Beside naive baselines", *parts, BASELINES_NOTE] if parts else []


def _beside_row(row: BesideBaseline) -> tuple[str, ...]:
    sizes = (row.median, row.worst, row.baseline_median, row.baseline_worst)
    return row.by, str(row.value), str(row.cases), *(f"{size:.1%}" for size in sizes)


def _ratios(comparisons: Sequence[CaseComparison]) -> list[str]:
    """Return what the errors mean for the order of two arms."""
    found = safe_ratio_by_cost(comparisons)
    if not found:
        return []
    factor = found[0][2].factor
    return [
        "## Order of two arms",
        table(RATIO_HEADINGS, [_ratio_row(*row) for row in found], left=2),
        f"The predicted ratio of two arms of a cell is within a factor of {factor:.2f} of the "
        f"measured one in {SAFE_SHARE:.0%} of the pairs: an order of two arms is safe when they "
        f"differ by more than {factor:.2f} ×. `millrace claims --simulator-error {factor:.2f}` "
        "marks the verdicts that such an error could change.",
    ]


def _ratio_row(by: str, value: object, found: SafeRatio) -> tuple[str, ...]:
    return by, str(value), str(found.pairs), f"{found.factor:.2f} ×"


def _row(each: CaseComparison) -> tuple[str, ...]:
    case = each.case
    return (
        case.topology,
        number_name(case.cost),
        number_name(case.payload),
        case.arm,
        amount(each.measured),
        f"{amount(each.low)} – {amount(each.high)}" if each.runs > 1 else "-",
        amount(each.predicted),
        signed(each.error),
        amount(each.bottleneck),
        amount(each.usl),
        "; ".join(remarks(each)),
    )


def remarks(each: CaseComparison) -> list[str]:
    """Return the remarks that a reader of a case must know."""
    found = []
    if each.unstable:
        found.append("unstable")
    if each.scattered:
        found.append(f"predicted {amount(each.predicted_low)} to {amount(each.predicted_high)}")
    if each.disturbed:
        found.append(f"others took {each.others:.0%}")
    if each.other_state:
        found.append(
            "always in another state"
            if each.other_state_used
            else f"{each.other_state} in another state"
        )
    if each.unsettled_used:
        found.append("never settled")
    elif each.unsettled:
        found.append(f"{each.unsettled} unsettled")
    if each.failed:
        found.append(f"{each.failed} of {each.attempted} failed")
    if each.predicted_unsettled:
        found.append(
            f"{each.predicted_unsettled} unsettled "
            f"prediction{'s' if each.predicted_unsettled > 1 else ''}"
        )
    if each.failure is not None:
        found.append(f"no prediction: {each.failure.replace('|', '/')[:80]}")
    return found


def _note(comparisons: Sequence[CaseComparison], constants: Mapping[str, float]) -> str:
    runs = sorted({each.runs for each in comparisons} - {0})
    if not runs:
        return "Nothing was measured."
    spread = f"{runs[0]} to {runs[-1]}" if len(runs) > 1 else f"{runs[0]}"
    sure = (
        f", which hold the true median with probability {coverage(runs[0], rank(runs[0])):.0%} at "
        "least"
        if runs[0] > 1
        else ""
    )
    unstable = sum(each.unstable for each in comparisons)
    other_state = sum(each.other_state for each in comparisons)
    states = (
        f" {other_state} run(s) were made in another state of the machine: a cache line took "
        "another time from core to core "
        "than the profile says. They count only where there are no others."
        if other_state
        else ""
    )
    others = statistics.fmean(each.others for each in comparisons if each.runs)
    replaced = ", ".join(f"{path} {value:,.0f}" for path, value in constants.items())
    beside = (
        f", with {replaced}, the median of what was measured between the runs" if replaced else ""
    )
    return (
        f"Measured: median of {spread} run(s), each in a fresh process; interval: two of "
        f"them{sure}. {unstable} case(s) "
        f"unstable: the interval reaches further than {STABLE_INTERVAL:.0%} from the median, or "
        "there is one run alone. Other "
        f"processes took {others:.0%} of the CPUs meanwhile; a case says how much if it was more "
        f"than {DISTURBED_SHARE:.0%}. "
        f"Predicted: median of {PREDICTIONS} runs in virtual time{beside}.{states}"
    )


def _errors_row(name: str, value: object, found: Errors) -> tuple[str, ...]:
    return name, str(value), *_numbers(found)


def _numbers(found: Errors) -> tuple[str, ...]:
    worst = signed(found.worst.error)
    return str(found.cases), f"{found.median:.1%}", worst, signed(found.bias), f"{found.within:.0%}"


def _pair_row(pair: Pair) -> tuple[str, ...]:
    remark = "doubtful" if pair.doubtful else ""
    ratios = (f"{pair.measured:.2f} ×", f"{pair.predicted:.2f} ×")
    return (
        cell_name(pair.faster.case.group),
        pair.faster.case.arm,
        pair.slower.case.arm,
        *ratios,
        remark,
    )


def _verdict_lines(verdict: SessionVerdict) -> list[str]:
    if verdict.overall is None:
        return ["No case was both measured and predicted: there is nothing to judge."]
    overall, reliable, met = verdict.overall, verdict.reliable, verdict.targets
    worst, right = overall.worst, len(verdict.pairs) - len(verdict.wrong)
    sure = [pair for pair in verdict.pairs if not pair.doubtful]
    apart = f", in {sum(pair.right for pair in sure)} of the {len(sure)} without a doubtful case"
    lines = [
        f"* median error {overall.median:.1%} (at most {MEDIAN_TARGET:.0%}): "
        f"{_word(met['median'])}",
        f"* worst error {signed(worst.error)}, {worst.case} (at most {WORST_TARGET:.0%}): "
        f"{_word(met['worst'])}",
        f"* order of the models right in {right} of {len(verdict.pairs)} pairs whose measured "
        "medians differ by more than "
        f"{MIN_ORDERED_DIFFERENCE:.0%} (all){apart if len(sure) < len(verdict.pairs) else ''}: "
        f"{_word(met['order'])}",
    ]
    doubtful = overall.cases - (reliable.cases if reliable else 0)
    if doubtful:
        errors = (
            f"median {reliable.median:.1%}, worst {signed(reliable.worst.error)}, "
            f"{reliable.worst.case}"
            if reliable
            else "none left"
        )
        lines.append(f"* without the {doubtful} doubtful case(s) ({DOUBTFUL_WORDS}): {errors}")
    if verdict.missing:
        lines.append(
            f"* {len(verdict.missing)} case(s) without a measurement or without a prediction: "
            f"{_word(met['complete'])}"
        )
    return [*lines, "", "All targets are met." if verdict.met else "Not all targets are met."]


def _word(met: bool) -> str:
    return "met" if met else "MISSED"


def amount(rate: float | None) -> str:
    """Return a rate with three digits: 1.23 M, 45.6 k, 789."""
    if rate is None:
        return "-"
    for unit, factor in ((" M", 1e6), (" k", 1e3)):
        if rate >= 0.9995 * factor:
            scaled = rate / factor
            return f"{scaled:.{0 if scaled >= 99.95 else 1 if scaled >= 9.995 else 2}f}{unit}"
    return f"{rate:.3g}"


def signed(share: float | None) -> str:
    """Return an error for people: +12.3%."""
    return "-" if share is None else f"{share:+.1%}"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> str:
    """Return a Markdown table; the first `left` columns and the last one, if it is remarks, are
    aligned to the left.
    """
    cells = [tuple(headings), *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    to_left = [place < left or name == "remarks" for place, name in enumerate(headings)]

    def line(row: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if is_left else cell.rjust(width)
            for cell, width, is_left in zip(row, widths, to_left, strict=True)
        )
        return "| " + " | ".join(padded) + " |"

    rule = "|" + "|".join(
        "-" * (width + 2) if is_left else "-" * (width + 1) + ":"
        for width, is_left in zip(widths, to_left, strict=True)
    )
    return "\n".join([line(headings), rule + "|", *map(line, rows)])
