"""Screen of a terminal that obeys the control codes of a line that is drawn again and again."""

from __future__ import annotations

import re

CODES = re.compile(r"\033\[(\?25[lh]|[\d;]*m|\d*A|\d*K)|(\r)|(\n)|([^\033\r\n]+)")


def seen(written: str) -> list[str]:
    """Return the lines that a reader sees at the end, without empty ones."""
    lines, row, column = [""], 0, 0
    for code, back, down, text in CODES.findall(written):
        if text:
            lines[row] = lines[row][:column].ljust(column) + text + lines[row][column + len(text) :]
            column += len(text)
        elif back:
            column = 0
        elif down:
            row, column = row + 1, 0
            lines += [""] * (row == len(lines))
        elif code.endswith("A"):
            row -= int(code[:-1] or 1)
        elif code.endswith("K"):
            lines[row] = "" if code == "2K" else lines[row][:column]
    return [line for line in lines if line]
