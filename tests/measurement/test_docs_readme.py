"""The Python code of README.md works as it stands."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_example_of_an_engine_runs_and_is_correct() -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert "assert totals.correct" in code
    exec(compile(code, "README.md", "exec"), {})
