"""Options: one name means one thing in all commands, and old spellings still work, with a note."""

from __future__ import annotations

import argparse
import importlib
import json

import pytest

from harness.cli import COMMANDS, main
from harness.cli.parser import OldSpelling, OneLineParser, add_old_spelling

MEANINGS = {
    "--json": lambda action: action.metavar == "FILE|-" and action.nargs in (None, "?"),
    "--report": lambda action: action.metavar in ("FILE", "FILE|-", "PATH"),
    "--jobs": lambda action: action.metavar == "N",
    "--config": lambda action: action.metavar == "FILE",
    "--set": lambda action: action.metavar.startswith("NAME=VALUE"),
    "--record": lambda action: action.metavar == "FILE",
    "--law-set": lambda action: action.metavar == "NAME=VALUE",
    "--machine": lambda action: action.metavar and action.nargs is None,
    "--seed": lambda action: action.metavar == "N",
}
"""Form that an option has in each command that has it."""


def parsers() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command, with those of its own commands."""
    found = {}
    for name in COMMANDS:
        module = importlib.import_module(f"harness.cli.{name}")
        words = {name: module} | {
            f"{name} {word}": importlib.import_module(path)
            for word, path in getattr(module, "SUBCOMMANDS", {}).items()
        }
        for full, each in words.items():
            parser = OneLineParser(prog=full)
            each.add_arguments(parser)
            found[full] = parser
            for action in parser._actions:
                if isinstance(action, argparse._SubParsersAction):
                    found |= {f"{full} {word}": part for word, part in action.choices.items()}
    return found


ALL = parsers()


def having(option: str) -> dict[str, argparse.Action]:
    return {
        name: action
        for name, parser in ALL.items()
        if (action := parser._option_string_actions.get(option)) is not None
        and not isinstance(action, OldSpelling)
    }


@pytest.mark.parametrize("option", MEANINGS)
def test_an_option_has_one_form_in_all_commands(option):
    found = having(option)
    assert found
    assert [name for name, action in found.items() if not MEANINGS[option](action)] == []


def test_an_old_spelling_leads_to_an_option_of_its_parser_and_is_not_in_its_help():
    old = [
        (parser, action)
        for parser in ALL.values()
        for action in parser._actions
        if isinstance(action, OldSpelling)
    ]
    assert len(old) >= 6
    for parser, action in old:
        assert action.now in parser._option_string_actions
        assert f"{action.option_strings[0]} " not in parser.format_help()


def test_an_old_spelling_does_what_the_new_one_does_with_a_note(capsys):
    parser = OneLineParser(prog="millrace x")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--law-set", action="append", default=[])
    add_old_spelling(parser, "--cores", "--jobs")
    add_old_spelling(parser, "--set", "--law-set")
    args = parser.parse_args(["--cores", "3", "--set", "a=1", "--law-set", "b=2"])
    assert (args.jobs, args.law_set) == (3, ["a=1", "b=2"])
    assert capsys.readouterr().err.splitlines() == [
        "millrace x: --cores is now --jobs; the next release drops the old one",
        "millrace x: --set is now --law-set; the next release drops the old one",
    ]
    assert parser.parse_args([]).jobs is None


def test_both_spellings_of_an_option_are_one_value_too_many(capsys):
    parser = OneLineParser(prog="millrace x")
    parser.add_argument("--jobs", type=int)
    add_old_spelling(parser, "--cores", "--jobs")
    with pytest.raises(SystemExit):
        parser.parse_args(["--cores", "3", "--jobs", "4"])
    assert "must be given once" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["topologies"], ["machines"], ["doctor", "--watch", "0.1"]])
def test_listings_write_json_to_a_file_or_to_standard_output(tmp_path, capsys, words):
    file = tmp_path / "a.json"
    assert main([*words, "--json", str(file)]) == 0
    assert capsys.readouterr().out == f"wrote {file}\n"
    assert main([*words, "--json", "-"]) == 0
    assert isinstance(json.loads(capsys.readouterr().out), list)
    assert isinstance(json.loads(file.read_text()), list)


def test_json_without_a_file_still_means_standard_output(capsys):
    assert main(["machines", "--json", "xeon"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["name"] == "xeon"
    assert "--json is now --json -" in said.err
    assert main(["topologies", "--json"]) == 0
    assert "--json is now --json -" in capsys.readouterr().err
