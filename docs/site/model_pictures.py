"""Pictures of the threading models: `python docs/site/model_pictures.py` writes docs/pictures/.

Each shows one graph: a source, operators a and b, and a sink. A thread has a colour. An operator
has the colour of the thread that executes it, or stripes if any thread of a pool may.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parents[1] / "pictures"
OPERATORS = ("source", "a", "b", "sink")
WIDTH, HEIGHT, STEP, BOX = 560, 168, 138, 74
FONT = 'font-family="Helvetica, Arial, sans-serif"'
COLOURS = {"1": "#56b4e9", "2": "#e69f00", "3": "#5cc29a", "4": "#e3a0c4", "p": "url(#pool)"}
STRIPES = (
    '<defs><pattern id="pool" width="12" height="12" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="12" height="12" fill="#f6d9a0"/>'
    '<rect width="6" height="12" fill="#bfe3d3"/></pattern>'
    '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0 8 4 0 8z" fill="#333"/></marker></defs>'
)


class Model(NamedTuple):
    """Model as its picture shows it."""

    executors: str  # of each operator: the number of a thread, or p for the pool
    queued: tuple[int, ...]  # streams that have a queue, by the place of their first operator
    sentence: str
    round: bool = False  # round corners for co-routines


MODELS = {
    "manual": Model("1111", (), "The source's thread calls one operator after the other."),
    "dedicated": Model("1234", (0, 1, 2), "Each input port has a queue and a thread."),
    "dynamic": Model("1ppp", (0, 1, 2), "Threads of a pool take tuples from any queue."),
    "multilevel": Model("1ppp", (0, 2), "A law chooses the queues and the number of threads."),
    "coroutine": Model(
        "pppp", (0, 1, 2), "Threads of a pool resume operators, and switch when one waits.", True
    ),
}


def picture(name: str) -> str:
    """Return the picture of a model as SVG."""
    model = MODELS[name]
    parts = [_text(WIDTH / 2, 20, model.sentence, 14)]
    for place, (operator, executor) in enumerate(zip(OPERATORS, model.executors, strict=True)):
        x = 36 + place * STEP
        parts.append(
            f'<rect x="{x}" y="48" width="{BOX}" height="44" rx="{20 if model.round else 4}" '
            f'fill="{COLOURS[executor]}" stroke="#333"/>'
        )
        parts.append(_text(x + BOX / 2, 75, operator, 14))
        if place < len(OPERATORS) - 1:
            parts.append(_stream(x + BOX, place in model.queued))
    threads = sorted(set(model.executors))
    left = (WIDTH - 118 * len(threads)) / 2
    for number, each in enumerate(threads):
        label = "pool of threads" if each == "p" else f"thread {each}"
        x = left + 118 * number
        parts.append(
            f'<rect x="{x}" y="128" width="16" height="16" fill="{COLOURS[each]}" stroke="#333"/>'
        )
        parts.append(_text(x + 22, 141, label, 12, "start"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img"><title>The {name} model</title>'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>{STRIPES}\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _stream(x: float, queue: bool) -> str:
    """Return a stream: an arrow for a call, an arrow into the slots of a queue otherwise."""
    end = x + STEP - BOX
    if not queue:
        return f'<path d="M{x} 70H{end - 1}" stroke="#333" marker-end="url(#tip)"/>' + _text(
            (x + end) / 2, 62, "call", 11
        )
    slots = "".join(
        f'<rect x="{end - 36 + 9 * slot}" y="60" width="9" height="20" fill="#fff" stroke="#333"/>'
        for slot in range(4)
    )
    return f'<path d="M{x} 70H{end - 37}" stroke="#333" marker-end="url(#tip)"/>{slots}' + _text(
        end - 18, 96, "queue", 11
    )


def _text(x: float, y: float, words: str, size: int, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:g}" y="{y}" {FONT} font-size="{size}" text-anchor="{anchor}">{words}</text>'
    )


if __name__ == "__main__":
    for name in MODELS:
        (FOLDER / f"model-{name}.svg").write_text(picture(name), encoding="utf-8")
