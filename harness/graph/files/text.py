"""Parser of YAML and JSON of unknown origin: strict, bounded in time and memory, and with the line
of each value.

Values are what YAML 1.2 and JSON have in common: mappings with keys of text, lists, text, numbers,
true, false and null. What is not needed to write a graph is refused: aliases (which can make a
small file endless), tags, more than one document.
"""

from __future__ import annotations

import json
import re
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.files.checked_yaml import Place
from harness.files.given import load_strict_json, read_given_text

MAX_BYTES = 64 * 2**20
MAX_DEPTH = 32  # of values inside values
MAX_VALUES = 20_000_000  # in a file; what fits into memory with room to spare

WORDS = {"": None, "~": None, "null": None, "Null": None, "NULL": None} | {
    word: value
    for value in (True, False)
    for word in (str(value).lower(), str(value), str(value).upper())
}
WHOLE = re.compile(r"[-+]?[0-9]{1,4000}")
NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
NO_NUMBER = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


@dataclass
class ParsedFile:
    """The values of a file and, of a YAML file, their lines."""

    values: Any
    # By id of mappings and lists, which live as long as `values`: the line where one begins, then
    # those of its keys or entries, in order.
    lines: dict[int, array[int]] = field(default_factory=dict)

    def line(self, place: Place) -> int | None:
        """Return the line, counted from 1, of the key or entry at a place. If the file has none
        there, return that of the innermost one around it; None if lines are not known.
        """
        value = self.values
        lines = self.lines.get(id(value))
        line = lines[0] if lines else None
        for step in place:
            lines = self.lines.get(id(value))
            keys = list(value) if isinstance(value, dict) else range(len(lines) - 1 if lines else 0)
            if not lines or step not in keys:
                break
            line = lines[1 + keys.index(step)]
            value = value[step]
        return line


def read_text(path: Path) -> ParsedFile:
    """Return the values of a .json, .yaml or .yml file. Raises UserError, in one line, if it cannot
    be read or parsed.
    """
    text = read_given_text(path, MAX_BYTES)
    return ParsedFile(_read_json(path, text)) if path.suffix == ".json" else _read_yaml(path, text)


def _read_json(path: Path, text: str) -> Any:
    # at most a few too many: those inside texts
    if text.count(",") + text.count("[") + text.count("{") > MAX_VALUES:
        raise UserError(f"{path}: must hold at most {MAX_VALUES} values")
    try:
        return load_strict_json(text)
    except json.JSONDecodeError as error:
        raise UserError(f"{path}, line {error.lineno}: not JSON: {error.msg}") from error
    # a key that is given twice, a number that is not finite or too long for Python
    except ValueError as error:
        raise UserError(f"{path}: not JSON for us: {error}") from error
    except RecursionError as error:
        raise UserError(f"{path}: not JSON for us: nested too deeply") from error


def _read_yaml(path: Path, text: str) -> ParsedFile:
    import yaml

    try:
        return _YamlReader(path).read(
            yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        )
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}" if mark else ""
        raise UserError(f"{path}{place}: not YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise UserError(f"{path}: not YAML: {' '.join(str(error).split())}") from error


class _YamlReader:
    """Makes values of YAML's events, one after the other: nothing of the file is held twice,
    nothing recurses.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[int, array[int]] = {}

    def read(self, events: Any) -> ParsedFile:
        """Return the values of the only document."""
        import yaml

        # containers that are open, each with the key that waits for its value
        open_: list[tuple[Any, list[Any]]] = []
        document: list[Any] = []
        values = 0
        for event in events:
            kind = type(event)
            if kind is yaml.ScalarEvent:
                value = self._scalar(event)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                value = {} if kind is yaml.MappingStartEvent else []
                if event.anchor is not None or event.tag is not None:
                    raise self._wrong(event, "anchors and tags are not allowed in a graph file")
                if len(open_) >= MAX_DEPTH:
                    raise self._wrong(event, f"nested more than {MAX_DEPTH} deep")
                self.lines[id(value)] = array("I", [event.start_mark.line + 1])
            elif kind is yaml.AliasEvent:
                raise self._wrong(
                    event, f"aliases are not allowed in a graph file: *{event.anchor}"
                )
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                open_.pop()
                continue
            elif kind is yaml.DocumentStartEvent and document:
                raise self._wrong(event, "must be one document")
            else:
                continue
            values += 1
            if values > MAX_VALUES:
                raise self._wrong(event, f"must hold at most {MAX_VALUES} values")
            if not open_:
                document.append(value)
            else:
                self._enter(open_[-1], value, event)
            if isinstance(value, dict | list):
                open_.append((value, []))
        return ParsedFile(document[0] if document else None, self.lines)

    def _enter(self, place: tuple[Any, list[Any]], value: Any, event: Any) -> None:
        container, key = place
        lines = self.lines[id(container)]
        if isinstance(container, list):
            container.append(value)
            lines.append(event.start_mark.line + 1)
        elif key:
            container[key.pop()] = value
        elif not isinstance(value, str):
            raise self._wrong(event, f"key {_short(value)} is no text")
        elif value in container:
            raise self._wrong(event, f"key {_short(value)} is given twice")
        else:
            key.append(value)
            lines.append(event.start_mark.line + 1)

    def _scalar(self, event: Any) -> Any:
        text = event.value
        if event.anchor is not None or event.tag not in (None, "!"):
            raise self._wrong(event, "anchors and tags are not allowed in a graph file")
        if not event.implicit[0]:  # in quotes, or a block of text
            return text
        if text in WORDS:
            return WORDS[text]
        if WHOLE.fullmatch(text):
            return int(text)
        if NO_NUMBER.fullmatch(text):
            raise self._wrong(event, f"must hold finite numbers, not {text}")
        return float(text) if NUMBER.fullmatch(text) else text

    def _wrong(self, event: Any, problem: str) -> UserError:
        return UserError(f"{self.path}, line {event.start_mark.line + 1}: {problem}")


def _short(value: object) -> str:
    text = repr(value) if not isinstance(value, dict | list) else type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."
