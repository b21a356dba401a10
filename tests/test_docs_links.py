"""Every relative link of the docs leads to a file, and its anchor to a heading. Messages and
comments name pages that exist.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("docs", "harness", "results/reference")
PAGES = [
    *ROOT.glob("*.md"),
    *(page for folder in FOLDERS for page in sorted((ROOT / folder).rglob("*.md"))),
]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def prose(page: Path) -> str:
    """The page without its code blocks, in which brackets and `#` are no links and no headings."""
    return CODE.sub("", page.read_text(encoding="utf-8"))


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to headings: lower case, no punctuation, spaces as hyphens,
    repeats numbered.
    """
    made: dict[str, int] = {}
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", text, re.MULTILINE):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        repeats = made.get(slug, -1) + 1
        made[slug] = repeats
        if repeats:
            made[f"{slug}-{repeats}"] = 0
    return set(made)


def broken_links(page: Path) -> list[str]:
    """Each link of the page that leads nowhere, with what is missing."""
    broken = []
    for target in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            broken.append(f"{target}: no such file")
        elif anchor and anchor not in anchors(prose(file)):
            broken.append(f"{target}: no such heading")
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_of_a_page_leads_somewhere(page):
    assert broken_links(page) == []


def test_a_link_to_a_missing_file_or_heading_is_found(tmp_path):
    other = "# A title, with `code`\n\n## Twice\n\n## Twice\n\n```\n# no heading\n```\n"
    (tmp_path / "other.md").write_text(other, encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "# Here\n[1](other.md) [2](other.md#a-title-with-code) [3](other.md#twice-1) [4](#here) "
        "[5](https://example.org/x)\n"
        "[6](gone.md) [7](other.md#no-heading) [8](#there)\n",
        encoding="utf-8",
    )
    assert broken_links(page) == [
        "gone.md: no such file",
        "other.md#no-heading: no such heading",
        "#there: no such heading",
    ]


def test_messages_and_comments_name_pages_that_exist():
    missing = [
        f"{file.relative_to(ROOT)}: {name}"
        for folder in ("harness", "config", "topologies", "examples")
        for file in sorted((ROOT / folder).rglob("*"))
        if file.suffix
        in {".py", ".pyx", ".pxd", ".hpp", ".cpp", ".yaml", ".json", ".rst", ".smk", ".md"}
        for name in re.findall(r"\bdocs/[\w/-]+\.md\b", file.read_text(encoding="utf-8"))
        if not (ROOT / name).exists()
    ]
    assert missing == []
