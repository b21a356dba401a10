"""Hooks of mkdocs: fill the generated parts of pages, and copy the files that pages link to.

A page has a comment `<!-- generated: NAME -->` where a part is made from its declaration when the
site is built. docs/site/parts.py makes the parts.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).parent))

from parts import MARK, filled  # noqa: E402  # the folder is no package

CODE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(!?\[[^\]]*\]\()(?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)")
PICTURES = (".png", ".svg")
REMOTE = re.compile(
    r'<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)="(?:https?:)?//[^"]+"'
)


def on_files(files: Files, config: Any) -> Files:
    """Add the files of the repository that pages link to."""
    for page in list(files.documentation_pages()):
        text = CODE.sub("", _with_parts(page.content_string))
        for _, target, _ in LINK.findall(text):
            outside = _outside(page.src_uri, target)
            if outside is None or not (ROOT / outside).is_file():
                continue
            uri = _copied(outside)
            if files.get_file_from_path(uri) is None:
                files.append(File.generated(config, uri, abs_src_path=str(ROOT / outside)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Return a page with its generated parts, and with links that lead to the copied files."""
    markdown = _with_parts(markdown)
    uri = page.file.src_uri

    def link(found: re.Match[str]) -> str:
        outside = _outside(uri, found[2])
        if outside is None:
            return found[0]
        if (ROOT / outside).is_dir():
            return f"{found[1][1:-2]} (`{outside}/`)"
        return f"{found[1]}{posixpath.relpath(_copied(outside), posixpath.dirname(uri))})"

    pieces, end = [], 0
    for code in CODE.finditer(markdown):
        pieces += [LINK.sub(link, markdown[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*pieces, LINK.sub(link, markdown[end:])])


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Refuse a page that loads something from a network."""
    if found := REMOTE.search(output):
        raise PluginError(f"{page.file.src_uri} loads from a network: {found[0]}")
    return output


def _with_parts(text: str) -> str:
    return filled(text) if MARK.search(text) else text


def _outside(page: str, target: str) -> str | None:
    """Return the path in the repository of a link's target; None if it lies in docs/."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    if path.startswith("docs/"):
        return None
    return path


def _copied(path: str) -> str:
    """Return where the site has a copy of a file. A browser shows .txt in place of saving it."""
    seen = "/".join(name.lstrip(".") for name in path.split("/"))  # mkdocs leaves out hidden files
    return f"files/{seen}" if path.endswith(PICTURES) else f"files/{seen}.txt"
