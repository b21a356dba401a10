"""HTML pages that load no other file and can be read on a phone."""

from __future__ import annotations

from html import escape


def web_page(title: str, style: str, body: str, script: str = "") -> str:
    """Return a whole page. Its width is that of the screen, so that a phone shows text in a size
    that can be read.
    """
    program = f"\n<script>\n{script}</script>" if script else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"{body}{program}\n</body>\n</html>\n"
    )
