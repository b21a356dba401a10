"""Table of the models' options in docs/options.md.

python -m tests.models.options_page --write    write it from the declarations
"""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.cli.model_options import flag_of
from harness.models import OPTIONS, owners_of

PAGE = Path(__file__).parents[2] / "docs/options.md"
HEAD = "| option | in files | models | bounds | default | source | in a record |"


def table() -> str:
    """Return the table as Markdown."""
    rows = [HEAD, "|---" * HEAD.count(" | ") + "|---|"]
    for name, option in OPTIONS.items():
        bounds = f"{option.range} {option.unit}".strip()
        cells = (
            f"`{flag_of(name)}`",
            f"`{name}`",
            owners_of(name),
            bounds,
            option.default,
            option.source,
            f"`{option.recorded_as or name}`",
        )
        rows.append(f"| {' | '.join(cells)} |")
    rows += ["", *(f"* `{name}`: {option.help}." for name, option in OPTIONS.items())]
    return "\n".join(rows) + "\n"


def table_in(text: str) -> str:
    """Return the table that a page has, with the list under it: the rest of the page."""
    return text[text.index(HEAD) :]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", required=True, help="write the page")
    parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text.replace(table_in(text), table()), encoding="utf-8")


if __name__ == "__main__":
    main()
