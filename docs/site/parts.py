"""Generated parts of pages: the command line, files, tables and the Python interface.

python docs/site/parts.py NAME    print a part, as Markdown
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import inspect
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MARK = re.compile(r"^<!-- generated: ([\w-]+) -->$", re.MULTILINE)
HELP_COLUMNS = "78"


def filled(text: str) -> str:
    """Return a page with its generated parts. Raises KeyError for a part that does not exist."""
    return MARK.sub(lambda mark: part(mark[1]), text)


@functools.cache
def part(name: str) -> str:
    """Return a part by its name. Raises KeyError if there is none."""
    return PARTS[name]()


def command_line() -> str:
    """Return the variables of the environment, and what each command prints for `--help`."""
    from harness.cli import COMMANDS, VARIABLES

    rows = [f"| `{name}` | {meaning} |" for name, meaning in VARIABLES.items()]
    head = ["## Environment variables", "", "| variable | meaning |", "|---|---|"]
    parts = ["\n".join([*head, *rows])]
    for name in COMMANDS:
        for words in _commands([name], f"harness.cli.{name}"):
            description, usage = _help(words)
            parts.append(f"## millrace {' '.join(words)}\n\n{description}\n\n{_block(usage)}")
    return "\n\n".join(parts)


def _commands(words: list[str], home: str) -> Iterator[list[str]]:
    """Yield a command and those below it. `home`: the module of the command."""
    from harness.cli import OneLineParser

    yield words
    module = importlib.import_module(home)
    parser = OneLineParser(prog=" ".join(words))
    module.add_arguments(parser)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from ([*words, name] for name in action.choices)
    for name, home_of_it in getattr(module, "SUBCOMMANDS", {}).items():
        yield from _commands([*words, name], home_of_it)


def _help(words: list[str]) -> tuple[str, str]:
    """Return the description that a command's help begins with, as Markdown, and the rest."""
    from harness.cli import main

    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = HELP_COLUMNS
    try:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
            main([*words, "--help"])
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
    description, _, usage = out.getvalue().partition("\nusage: ")
    paragraphs = re.split(r"\n\n(?=\S)", description.strip())
    shown = [
        _block(each) if re.search(r"^ ", each, re.MULTILINE) else _prose(each)
        for each in paragraphs
    ]
    return "\n\n".join(shown), "usage: " + usage.strip()


def _prose(text: str) -> str:
    """Return text of a help as Markdown, in which `*`, `<` and `_` mean themselves."""
    return re.sub(r"([*<_\[])", r"\\\1", text)


def _block(text: str) -> str:
    return f"```text\n{text}\n```"


def schema(name: str) -> str:
    """Return the keys of a kind of file, from its JSON schema: a table for each object."""
    text = (ROOT / f"config/schemas/{name}.schema.json").read_text(encoding="utf-8")
    whole = json.loads(text)
    objects = {"The file": whole} | {
        key.replace("_", " ").capitalize(): part
        for key, part in whole["$defs"].items()
        if "properties" in part
    }
    return "\n\n".join(_object(title, part, whole["$defs"]) for title, part in objects.items())


def _object(title: str, part: dict[str, Any], defs: dict[str, Any]) -> str:
    lines = [f"## {title}", ""]
    if description := part.get("description"):
        lines += [_sentence(description), ""]
    lines += ["| key | value | meaning |", "|---|---|---|"]
    for key, value in part["properties"].items():
        resolved = _resolved(value, defs)
        must = " (required)" if key in part.get("required", ()) else ""
        meaning = value.get("description") or resolved.get("description", "")
        if "default" in resolved:
            meaning = f"{meaning} (default: {json.dumps(resolved['default'])})"
        cells = (f"`{key}`{must}", _value(value, defs), meaning.replace("|", "\\|"))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def _resolved(part: dict[str, Any], defs: dict[str, Any]) -> dict[str, Any]:
    """Return a part of a schema with what it refers to."""
    if "$ref" not in part:
        return part
    return {**_resolved(defs[part["$ref"].rpartition("/")[2]], defs), **part}


def _value(part: dict[str, Any], defs: dict[str, Any]) -> str:
    """Return in words which values a key may have."""
    name = part.get("$ref", "").rpartition("/")[2]
    if name and "properties" in defs[name]:
        title = name.replace("_", " ")
        return f"[{title}](#{title.replace(' ', '-')})"
    part = _resolved(part, defs)
    if "rule" in part:
        return part["rule"]
    if "const" in part:
        return f"`{json.dumps(part['const'])}`"
    if "enum" in part:
        return ", ".join(f"`{json.dumps(each)}`" for each in part["enum"])
    choices = part.get("anyOf") or part.get("oneOf")
    if choices:
        return " or ".join(dict.fromkeys(_value(each, defs) for each in choices))
    kinds = part.get("type", "any value")
    words = [kinds] if isinstance(kinds, str) else kinds
    if words == ["array"] and "items" in part:
        return f"list of: {_value(part['items'], defs)}"
    return f"{' or '.join(words)}{_bounds(part)}"


def _bounds(part: dict[str, Any]) -> str:
    least = part.get("minimum", part.get("exclusiveMinimum"))
    most = part.get("maximum")
    if least is None and most is None:
        return ""
    if most is None:
        return f", {least:,} at least" if "minimum" in part else f", more than {least:,}"
    return f", {least:,} to {most:,}" if least is not None else f", {most:,} at most"


def tables() -> str:
    """Return the columns of the tables that `millrace aggregate` makes."""
    from harness.spark.columns import MEANINGS
    from harness.spark.schemas import TABLES

    parts = []
    for name, table in TABLES.items():
        rows = [
            f"| `{field.name}` | {field.dataType.simpleString()} | {MEANINGS[field.name]} |"
            for field in table
        ]
        parts.append(
            "\n".join([f"## {name}", "", "| column | type | meaning |", "|---|---|---|", *rows])
        )
    return "\n\n".join(parts)


def python_interface() -> str:
    """Return the directives that show each public name with its docstring."""
    return "\n\n".join(_directives())


def _directives() -> Iterator[str]:
    import millrace
    from harness.models import MODELS
    from harness.models.option import options_of

    models = set(MODELS.values())
    for name in millrace.__all__:
        value = getattr(millrace, name)
        if name.startswith("__") or inspect.ismodule(value):
            continue
        shown = f"::: {value.__module__}.{value.__qualname__}\n    options:\n      heading: {name}"
        if value in models:  # defaults of arguments are whole declarations
            names = ", ".join(f"`{option}`" for option in options_of(value)) or "none"
            shown += f"\n      show_signature: false\n\nArguments: {names} ([options](options.md))."
        yield shown
    yield "::: harness.operators.windows\n    options:\n      heading: windows"


def options() -> str:
    """Return the table of the models' options, and what each does."""
    from harness.cli.model_options import flag_of
    from harness.models import OPTIONS, owners_of

    head = ("option", "in files", "models", "bounds", "default", "source", "in a record")
    rows = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name, option in OPTIONS.items():
        cells = (
            f"`{flag_of(name)}`",
            f"`{name}`",
            owners_of(name),
            f"{option.range} {option.unit}".strip(),
            option.default,
            option.source,
            f"`{option.recorded_as or name}`",
        )
        rows.append(f"| {' | '.join(cells)} |")
    rows += ["", *(f"* `{name}`: {option.help}." for name, option in OPTIONS.items())]
    return "\n".join(rows)


def records() -> str:
    """Return the lists of the fields of a record."""
    from harness.measurement.record.page import lists

    return lists()


def changes() -> str:
    """Return the changes from version to version, without the title."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").partition("\n")[2]
    text = re.sub(r"\]\(docs/", "](../", text)
    return re.sub(r"\]\((?![a-z]+:|#|\.\./)", "](../../", text)


PARTS: dict[str, Callable[[], str]] = {
    "command-line": command_line,
    "graph-files": lambda: schema("graph"),
    "experiment-files": lambda: schema("experiment"),
    "gate-suite-files": lambda: schema("gate-suite"),
    "tables": tables,
    "options": options,
    "python": python_interface,
    "records": records,
    "changes": changes,
}
"""The function that makes each part, by the part's name in pages."""


if __name__ == "__main__":
    for name in sys.argv[1:] or [f"usage: parts.py NAME, of {', '.join(PARTS)}"]:
        print(part(name) if name in PARTS else name)
