"""A part of Promela, translated to Python: each statement of each process to a function from a
state to the next.

What is taken: macros of the C preprocessor; global and local `bool` and `byte`, also arrays;
`active [N] proctype`; `inline`; `if` and `do` whose options begin with a plain statement; `else`,
`break`, `skip`, `assert`, assignments; `atomic` around plain statements, of which only the first
may have to wait. `ltl` is passed over. A byte that leaves 0..255 and an index out of bounds are
errors, as a failed assertion is.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field

State = tuple[int, ...]
Step = Callable[[State], "State | None"]
"""The state after the statement; None if it has to wait. Raises AssertionError."""

TOKEN = re.compile(r"\s*(::|->|\+\+|--|&&|\|\||[=!<>]=|\w+|[-+*/%&|^!<>=(){}\[\],;])")
LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("+", "-"),
    ("*", "/", "%"),
)
PYTHON = {"||": "or", "&&": "and", "/": "//"}


def tokens_of(model: str, constants: dict[str, int]) -> list[str]:
    """The model after the preprocessor, as Spin has it done too."""
    macros = [f"-D{name}={value}" for name, value in constants.items()]
    words = [os.environ.get("CXX", "g++"), "-E", "-P", "-x", "c", *macros, "-"]
    text = subprocess.run(
        words, input=model, capture_output=True, text=True, check=True, timeout=30
    ).stdout
    text = re.sub(r"\bltl\s+\w+\s*\{[^}]*\}", "", text).strip()
    tokens, place = [], 0
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise SyntaxError(f"not taken: {text[place : place + 40]!r}")
        tokens.append(match[1])
        place = match.end()
    return tokens


@dataclass
class Plain:
    """One step. `guard`: what it waits for, in Python; `local`: only what is the process' own is
    touched.
    """

    text: str
    guard: str = "True"
    lines: list[str] = field(default_factory=list)
    local: bool = False

    def is_hidden(self) -> bool:
        """Whether it may as well be part of the step before it."""
        return self.local and self.guard == "True" and self is not BREAK


@dataclass
class Choice:
    """if or do: options, each a list of statements."""

    repeats: bool
    options: list[list[Plain | Choice]]


ELSE, BREAK = Plain("else", local=True), Plain("break", local=True)


class Program:
    """A model, translated: `start`, the state at first; `steps[process][location]`; the names of
    `processes`.

    A location is the number of the statement that comes next; there are no steps from location 0,
    the end. `counters`: where the state holds the location of each process.
    """

    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.place = tokens, 0
        self.inlines: dict[str, tuple[list[str], list[str]]] = {}
        self.shared: dict[
            str, tuple[int, int]
        ] = {}  # variables: where they are in the state, and how many
        self.own: dict[
            str, tuple[int, int]
        ] = {}  # likewise those of the process that is being translated
        self.initial: list[int] = []
        self.processes: list[str] = []
        self.counters: list[int] = []
        self.steps: list[list[list[tuple[str, Step]]]] = []
        self.unseen: list[
            list[bool]
        ] = []  # whether the steps from a location touch what is the process' own, no more
        while self.place < len(self.tokens):
            if self.here() in ("byte", "bool"):
                self.declare(self.shared)
            elif self.accept("inline"):
                name = self.next()
                self.inlines[name] = self.arguments(), self.block()
            else:
                self.proctype()
        self.start: State = tuple(self.initial)

    def here(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def next(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1]

    def accept(self, token: str) -> bool:
        found = self.here() == token
        self.place += found
        return found

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise SyntaxError(
                f"expected {token!r} at: {' '.join(self.tokens[self.place : self.place + 8])}"
            )

    def arguments(self) -> list[str]:
        """What is between parentheses, by commas."""
        self.expect("(")
        arguments, depth = [[]], 1
        while True:
            token = self.next()
            depth += (token in "([") - (token in ")]")
            if depth == 0:
                return [" ".join(words) for words in arguments if words]
            if token == "," and depth == 1:
                arguments.append([])
            else:
                arguments[-1].append(token)

    def block(self) -> list[str]:
        """The tokens between braces."""
        self.expect("{")
        begin, depth = self.place, 1
        while depth > 0:
            depth += {"{": 1, "}": -1}.get(self.next(), 0)
        return self.tokens[begin : self.place - 1]

    def declare(self, names: dict[str, tuple[int, int]]) -> None:
        self.next()
        while True:
            name, length, value = self.next(), 1, 0
            if self.accept("["):
                length = self.constant()
                self.expect("]")
            if self.accept("="):
                value = int(self.next())
            names[name] = len(self.initial), length
            self.initial += [value] * length
            if not self.accept(","):
                return self.expect(";")

    def constant(self) -> int:
        """An expression of numbers, as of the length of an array."""
        return int(eval(self.expression()[0]))

    def proctype(self) -> None:
        self.expect("active")
        instances = 1
        if self.accept("["):
            instances = self.constant()
            self.expect("]")
        self.expect("proctype")
        name, _, begin = self.next(), self.arguments(), self.place
        for instance in range(instances):
            self.place, self.own = begin, {}
            self.expect("{")
            while self.here() in ("byte", "bool"):
                self.declare(self.own)
            self.processes.append(f"{name} {instance}" if instances > 1 else name)
            self.counters.append(len(self.initial))
            self.initial.append(1)
            self.steps.append([[], []])
            self.unseen.append([False, True])
            self.emit(self.sequence("}"), 1, 0, 0)
            self.expect("}")

    # -- statements

    def sequence(self, *closing: str) -> list[Plain | Choice]:
        """Statements up to one of these tokens. Those that nobody else can see become part of the
        step before them.
        """
        found: list[Plain | Choice] = []
        while self.here() not in closing:
            if self.accept(";") or self.accept("->"):
                continue
            if self.here() in self.inlines:
                self.expand()
                continue
            if self.here() in ("if", "do"):
                found.append(self.choice())
                continue
            statement = (
                BREAK
                if self.accept("break")
                else self.atomic()
                if self.here() == "atomic"
                else self.plain()
            )
            last = found[-1] if found else None
            if (
                statement.is_hidden()
                and isinstance(last, Plain)
                and last is not BREAK
                and last is not ELSE
            ):
                last.text += f"; {statement.text}"
                last.lines += statement.lines
            else:
                found.append(statement)
        return found

    def expand(self) -> None:
        """Put the body of an inline in the place of its call."""
        begin = self.place
        parameters, body = self.inlines[self.next()]
        given = dict(zip(parameters, self.arguments(), strict=True))
        self.tokens[begin : self.place] = " ".join(
            given.get(token, token) for token in body
        ).split()
        self.place = begin

    def choice(self) -> Choice:
        repeats = self.next() == "do"
        closing, options = "od" if repeats else "fi", []
        while self.accept("::"):
            options.append(self.sequence("::", closing))
            if not options[-1] or not isinstance(options[-1][0], Plain):
                raise SyntaxError("an option begins with a plain statement")
        self.expect(closing)
        return Choice(repeats, options)

    def atomic(self) -> Plain:
        self.next()
        self.expect("{")
        steps = []
        while not self.accept("}"):
            if self.accept(";") or self.accept("->"):
                continue
            steps.append(self.plain())
            if len(steps) > 1 and steps[-1].guard != "True":
                raise SyntaxError(f"in atomic, only the first statement may wait: {steps[-1].text}")
        lines = [line for step in steps for line in step.lines]
        return Plain(
            "; ".join(step.text for step in steps),
            steps[0].guard,
            lines,
            all(step.local for step in steps),
        )

    def plain(self) -> Plain:
        begin = self.place
        if self.accept("else"):
            return ELSE
        if self.accept("skip"):
            return Plain("skip", local=True)
        if self.accept("assert"):
            condition, local = self.expression()
            text = " ".join(self.tokens[begin : self.place])
            return Plain(
                text, lines=[f"if not {condition}: raise AssertionError({text!r})"], local=local
            )
        value, local = self.expression()
        sign = self.next() if self.here() in ("=", "++", "--") else None
        if sign is None:
            return Plain(" ".join(self.tokens[begin : self.place]), guard=value, local=local)
        target = value
        if sign == "=":
            value, also_local = self.expression()
            local = local and also_local
        else:
            value = f"({target} {sign[0]} 1)"
        text = " ".join(self.tokens[begin : self.place])
        return Plain(text, lines=[f"{target} = byte({value})"], local=local)

    # -- expressions, to Python; and whether they are of the process' own variables only

    def expression(self, level: int = 0) -> tuple[str, bool]:
        if level == len(LEVELS):
            return self.operand()
        left, local = self.expression(level + 1)
        while self.here() in LEVELS[level]:
            sign = self.next()
            right, also_local = self.expression(level + 1)
            left, local = f"({left} {PYTHON.get(sign, sign)} {right})", local and also_local
        return left, local

    def operand(self) -> tuple[str, bool]:
        token = self.next()
        if token == "!":
            inner, local = self.operand()
            return f"(not {inner})", local
        if token == "(":
            inner, local = self.expression()
            self.expect(")")
            return inner, local
        if token.isdigit() or token in ("true", "false", "_pid"):
            return {"true": "1", "false": "0", "_pid": str(len(self.processes) - 1)}.get(
                token, token
            ), True
        local = token in self.own
        if not local and token not in self.shared:
            raise SyntaxError(f"not declared: {token!r}")
        base, length = (self.own if local else self.shared)[token]
        if not self.accept("["):
            return f"s[{base}]", local
        index, also_local = self.expression()
        self.expect("]")
        return f"s[{base} + place({index}, {length})]", local and also_local

    # -- steps

    def emit(self, statements: list[Plain | Choice], begin: int, end: int, leave: int) -> None:
        """Steps for a sequence from location `begin` to `end`; `break` goes to `leave`."""
        locations = self.steps[-1]
        for number, statement in enumerate(statements):
            if statement is BREAK:
                if number == 0:
                    self.add(begin, statement, leave)
                return
            after = statements[number + 1] if number + 1 < len(statements) else None
            target = end if after is None else leave if after is BREAK else len(locations)
            if target == len(locations):
                locations.append([])
                self.unseen[-1].append(True)
            if isinstance(statement, Plain):
                self.add(begin, statement, target)
            else:
                for option in self.decided(statement.options):
                    self.emit(
                        option,
                        begin,
                        begin if statement.repeats else target,
                        target if statement.repeats else leave,
                    )
            begin = target

    def decided(self, options: list[list[Plain | Choice]]) -> list[list[Plain | Choice]]:
        """The same, with a condition in the place of `else`; what follows it and nobody else can
        see is part of that step.
        """
        others = [f"not ({option[0].guard})" for option in options if option[0] is not ELSE]
        made = []
        for option in options:
            if option[0] is ELSE:
                hidden = len(option) > 1 and isinstance(option[1], Plain) and option[1].is_hidden()
                local = all(other[0].local for other in options)
                condition = Plain(
                    "else", " and ".join(others), option[1].lines if hidden else [], local
                )
                option = [condition, *option[1 + hidden :]]
            made.append(option)
        return made

    def add(self, begin: int, statement: Plain, target: int) -> None:
        """A step from location `begin` to `target`."""
        lines = [f"if not ({statement.guard}): return None"] if statement.guard != "True" else []
        lines += [
            "s = list(s)",
            *statement.lines,
            f"s[{self.counters[-1]}] = {target}",
            "return tuple(s)",
        ]
        names = {"byte": byte, "place": place}
        exec("def step(s):\n " + "\n ".join(lines), names)
        self.steps[-1][begin].append((statement.text, names["step"]))
        self.unseen[-1][begin] &= statement.local


def byte(value: int) -> int:
    if not 0 <= value <= 255:
        raise AssertionError(f"{value} is no byte")
    return int(value)


def place(index: int, length: int) -> int:
    if not 0 <= index < length:
        raise AssertionError(f"index {index} of {length}")
    return index
