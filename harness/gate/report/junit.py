"""The report as JUnit XML, which CI servers show: one test case for each cell.

A regression is a failure, and so are wrong results. A cell without a number is an error. An
inconclusive cell is skipped, or a failure if the caller asks for that. The control is skipped,
because it does not test head; if it failed, it is an error.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from harness.gate.report.rows import between, middle, quantity, ratio, row, worst_first
from harness.gate.report.words import conclusion, control, control_failure, mean_of_cells
from harness.gate.verdict import CellResult, Comparison, Exit, Verdict, exit_code

KINDS = {
    Verdict.REGRESSED: "failure",
    Verdict.WRONG: "failure",
    Verdict.FAILED: "error",
    Verdict.FIXED: "error",
    Verdict.UNMEASURED: "error",
    Verdict.INCONCLUSIVE: "skipped",
    Verdict.NEW: "skipped",
    Verdict.REMOVED: "skipped",
}
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML 1.0


def junit(
    comparison: Comparison,
    *,
    code: int | None = None,
    inconclusive: Exit = Exit.INCONCLUSIVE,
    finished: bool = True,
) -> str:
    """Return the XML document. `code`: the call's exit code if it is not that of the verdict."""
    code = exit_code(comparison, inconclusive) if code is None else code
    name = _clean(f"gate.{comparison.suite}")
    suite = ElementTree.Element(
        "testsuite", name=name, timestamp=comparison.started_at, time=f"{comparison.seconds:.3f}"
    )
    _properties(suite, _terms(comparison, conclusion(comparison, inconclusive, finished), code))
    for result in worst_first(comparison):
        case = ElementTree.SubElement(
            suite, "testcase", classname=name, name=_clean(result.cell.name)
        )
        _properties(case, _numbers(result))
        _judge(case, result, comparison.factor, inconclusive)
    if comparison.control is not None:
        case = ElementTree.SubElement(
            suite, "testcase", classname=name, name="control: base against itself"
        )
        _properties(case, _numbers(comparison.control))
        if comparison.control_failed:
            ElementTree.SubElement(
                case, "error", type="host unstable", message=control_failure(comparison)
            )
        else:
            reason = f"not a test of head: {control(comparison)}"
            ElementTree.SubElement(case, "skipped", message=_clean(reason))
    suite.set("tests", str(len(suite.findall("testcase"))))
    for kind, plural in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(plural, str(len(suite.findall(f"testcase/{kind}"))))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _judge(
    case: ElementTree.Element, result: CellResult, factor: float, inconclusive: Exit
) -> None:
    """Add the reason why a case has not passed, if it has not."""
    kind = KINDS.get(result.verdict)
    if result.verdict is Verdict.INCONCLUSIVE and inconclusive is Exit.REGRESSED:
        kind = "failure"
    if kind is None:
        return
    shown = row(result)
    factor = result.cell.metric.factor or factor
    numbers = (
        f"ratio {shown.ratio} {shown.bounds}, factor {factor:g}, base {shown.base}, "
        f"head {shown.head}"
    )
    found = ElementTree.SubElement(
        case, kind, message=_clean(f"{result.verdict}: {result.reason or numbers}")
    )
    if kind != "skipped":
        found.set("type", str(result.verdict))


def _properties(parent: ElementTree.Element, values: dict[str, object]) -> None:
    properties = ElementTree.SubElement(parent, "properties")
    for name, value in values.items():
        ElementTree.SubElement(properties, "property", name=name, value=_clean(str(value)))


def _terms(comparison: Comparison, verdict: str, code: int) -> dict[str, object]:
    return {
        "verdict": verdict,
        "title": comparison.title,
        "exit_code": int(code),
        "base": comparison.base.label,
        "base_commit": comparison.base.commit or "",
        "head": comparison.head.label,
        "head_commit": comparison.head.commit or "",
        "factor": comparison.factor,
        "alpha": comparison.alpha,
        "seed": comparison.seed,
        "geometric_mean": mean_of_cells(comparison) or "",
    }


def _numbers(result: CellResult) -> dict[str, object]:
    decision, unit = result.decision, result.cell.metric.unit
    sides = {
        name: quantity(middle(values)[0], unit)
        for name, values in (("base", result.base), ("head", result.head))
        if values
    }
    bounds = {
        "ratio": ratio(decision.ratio),
        "bounds": between(decision.low, decision.high),
        "blocks": decision.blocks,
    }
    return {"verdict": result.verdict, **bounds, "metric": result.cell.metric.name, **sides}


def _clean(text: str) -> str:
    """Return a text without the characters that XML forbids."""
    return FORBIDDEN.sub("�", text)
