"""LoginFailures in plain Python, one line after the other: what its graphs must find. It shares no
code with them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from harness.applications.login_failures import FAILURE, MONTHS, SECOND, WINDOWS

RFC3164 = re.compile(
    rb" *([A-Z][a-z]{2}) +([0-9]{1,2}) +([0-9]{2}):([0-9]{2}):([0-9]{2}) +([^ ]+) +([^ ]+) "
    rb"+([^ ].*)",
    re.DOTALL,
)
DAYS = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)  # before each month of 1972
YEAR_1972 = 730 * 86400  # seconds since 1970
YEAR = 366 * 86400  # seconds


def reference(text: bytes, form: str) -> dict[str, list[dict[str, object]]]:
    """Return the tuples that a form finds in lines with times of RFC 3164, by sink.

    A plain program, by which the graphs are checked: it shares nothing with them.
    """
    failures: list[dict[str, object]] = []
    suspects: list[dict[str, object]] = []
    sessions: list[tuple[int, str]] = []
    windows: dict[tuple[int, str], list[int]] = {}
    last = None
    for log in _logs(text):
        last = log["time"] if last is None or form == "figure" else max(last, log["time"])
        if "sshd" not in log["service"]:
            continue
        if "session opened for user " in log["message"]:
            user = re.split("[ (]", log["message"].partition("session opened for user ")[2])[0]
            sessions.append((last, user))
        if "authentication failure" not in log["message"]:
            continue
        failure = _failure(log)
        if failure is None:
            continue
        number = log["number"] if form == "figure" else len(failures)
        failures.append({"time": last, "number": number} | failure)
        for count, seconds in WINDOWS:
            times = windows.setdefault((seconds, failure["rhost"]), [])
            times.append(last)
            if len(times) == count:
                if times[-1] - times[0] < seconds * SECOND:
                    span = times[-1] - times[0]
                    found = {"time": last, "span": span, "count": count, "window": seconds}
                    suspects.append(found | {"rhost": failure["rhost"], "user": failure["user"]})
                times.clear()
    break_ins = [
        {key: suspect[key] for key in ("window", "rhost", "user")}
        | {"suspected": suspect["time"], "opened": opened}
        for suspect in suspects
        for opened, user in sessions
        if user == suspect["user"] and abs(opened - suspect["time"]) < 60 * SECOND
    ]
    if form == "figure":
        return {"failures": failures}
    return {"failures": failures, "suspects writer": suspects, "break-ins writer": break_ins}


def _logs(text: bytes) -> Iterator[dict[str, object]]:
    number, years, before = 0, 0, -math.inf
    for line in text.split(b"\n")[: -1 if text.endswith(b"\n") else None]:
        line = line.removesuffix(b"\r")
        if len(line) > 204:
            continue
        found = RFC3164.fullmatch(line)
        if found is not None and found[1].decode() in MONTHS and 1 <= int(found[2]) <= 31:
            hour, minute, second = (int(found[place]) for place in (3, 4, 5))
            if hour < 24 and minute < 60 and second < 61:
                days = DAYS[MONTHS.index(found[1].decode())] + int(found[2]) - 1
                time = days * 86400 + hour * 3600 + minute * 60 + second
                if time < before - YEAR / 2:
                    years += 1
                elif time > before + YEAR / 2 and years > 0:
                    years -= 1
                before = time
                if max(len(found[6]), len(found[7])) > 32 or len(found[8]) > 196:
                    number += 1
                    continue
                yield {
                    "time": (YEAR_1972 + years * YEAR + time) * SECOND,
                    "number": number,
                    "host": found[6].decode(errors="replace"),
                    "service": found[7].decode(errors="replace"),
                    "message": found[8].decode(errors="replace"),
                }
        number += 1


def _failure(log: dict[str, object]) -> dict[str, str] | None:
    _, semicolon, pairs = log["message"].partition(";")
    values = dict(pair.split("=", 1) for pair in pairs.split(" ") if "=" in pair)
    found = {name: values.get(name, "") for name in ("uid", "euid", "tty", "rhost", "user")}
    bounds = {attribute.name: attribute.bound for attribute in FAILURE.attributes}
    given = any(found[name] for name in ("uid", "tty", "rhost", "user"))
    return (
        found
        if semicolon and given and all(len(value) <= bounds[name] for name, value in found.items())
        else None
    )
