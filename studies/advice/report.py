"""Report of the judgements, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from studies.advice.judge import NEARLY, Judgement


def markdown(judged: Sequence[Judgement], where: str, command: str) -> str:
    """Return the report. `where`: place and budget in words; `command`: what made it."""
    good = sum(each.is_good for each in judged)
    share = f"{100 * good / len(judged):.0f} %" if judged else "-"
    ratios = sorted(each.ratio for each in judged)
    lines = [
        f"{good} of {len(judged)} graphs ({share}) got advice within {100 * (1 - NEARLY):.0f} % of "
        f"the best arm, {where}.",
        "",
        f"Made by `{command}`.",
    ]
    if judged:
        lines += [
            f"Least ratio {ratios[0]:.3f}, median {ratios[len(ratios) // 2]:.3f}. Above 1 the "
            "advised arm was better than all of the set, or the runs were few. A call of advise "
            f"took {max(each.advice_s for each in judged):.0f} s at most.",
            "",
            "| graph | advised | best of all | advised / best | arms | runs |",
            "|---|---|---|---|---|---|",
        ]
    lines += [
        f"| {each.graph} | {_short(each.advised)} | {_short(each.best)} | "
        f"{'' if each.is_good else '**'}{each.ratio:.3f}{'' if each.is_good else '**'} | "
        f"{each.arms} | {each.runs} |"
        for each in judged
    ]
    return "\n".join(lines) + "\n"


MOST_SHOWN = 60  # characters of an arm


def _short(arm: str) -> str:
    """Return an arm in a table: a long list of queues is cut."""
    return f"`{arm}`" if len(arm) <= MOST_SHOWN else f"`{arm[: MOST_SHOWN - 3]}...`"
