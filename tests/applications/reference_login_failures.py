"""LoginFailures in plain Python, one line after the other: what its graphs must find. It shares no
code with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.applications.login_failures import FOUND_FAILURE, MONTHS, SECOND, WINDOWS

RFC3164 = re.compile(
    rb" *([A-Z][a-z]{2}) +([0-9]{1,2}) +([0-9]{2}):([0-9]{2}):([0-9]{2}) +([^ ]+) +([^ ]+) *(.*)",
    re.DOTALL,
)
DAYS = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)  # before each month of 1972
YEAR_1972 = 730 * 86400  # seconds since 1970
DAY = 86400  # seconds
YEAR = 366 * DAY
SET_BACK = 20 * 60 * SECOND


def reference(text: bytes, form: str) -> dict[str, list[dict[str, object]]]:
    """Return the tuples that a form finds in lines with times of RFC 3164, by sink.

    A plain program, by which the graphs are checked: it shares nothing with them.
    """
    failures: list[dict[str, object]] = []
    suspects: list[dict[str, object]] = []
    sessions: list[tuple[int, str]] = []
    windows: dict[tuple[int, str], list[int]] = {}
    for log in _logs(text):
        last = log["time"]
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
                span = _span(times)
                if span < seconds * SECOND:
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


def _span(times: list[int]) -> int:
    """Time that failures took; where clocks were set back, what they took before and behind that
    is added up.
    """
    parts = [[times[0]]]
    for time in times[1:]:
        if max(parts[-1]) - time > SET_BACK:
            parts.append([])
        parts[-1].append(time)
    return sum(max(part) - min(part) for part in parts)


def _logs(text: bytes) -> Iterator[dict[str, object]]:
    lines = text.split(b"\n")[: -1 if text.endswith(b"\n") else None]
    lines = [line.removesuffix(b"\r") for line in lines]
    lines = [line for line in lines if len(line) <= 65_536]
    read = [(number, *_read(line)) for number, line in enumerate(lines) if _read(line) is not None]
    before = None  # time of the last line that counts, with its year
    for place, (number, time, found) in enumerate(read):
        year = _year(time, before)
        at = time + year
        later = read[place + 1][1] if place + 1 < len(read) else None
        spike = (
            before is not None
            and abs(at - before) >= DAY
            and later is not None
            and abs(later + _year(later, before) - before) < DAY
        )
        before = before if spike else at
        yield {
            "time": (YEAR_1972 + at) * SECOND,
            "number": number,
            "host": found[6].decode(errors="replace"),
            "service": found[7].decode(errors="replace"),
            "message": found[8].decode(errors="replace"),
        }


def _year(time: int, before: int | None) -> int:
    """Return the years, as a time, to add to a time of 1972, so that it is closest to the time before."""
    if before is None:
        return 0
    return min(range(0, before + 2 * YEAR, YEAR), key=lambda year: abs(time + year - before))


def _read(line: bytes) -> tuple[int, re.Match[bytes]] | None:
    """Seconds of the year, and the parts of a line; None: it is none."""
    found = RFC3164.fullmatch(line)
    if found is None or found[1].decode() not in MONTHS or not 1 <= int(found[2]) <= 31:
        return None
    hour, minute, second = (int(found[place]) for place in (3, 4, 5))
    if hour > 23 or minute > 59 or second > 60:
        return None
    days = DAYS[MONTHS.index(found[1].decode())] + int(found[2]) - 1
    return days * DAY + hour * 3600 + minute * 60 + second, found


def _failure(log: dict[str, object]) -> dict[str, str] | None:
    _, semicolon, pairs = log["message"].partition(";")
    values = dict(pair.split("=", 1) for pair in pairs.split(" ") if "=" in pair)
    found = {name: values.get(name, "") for name in ("uid", "euid", "tty", "rhost", "user")}
    bounds = {attribute.name: attribute.bound for attribute in FOUND_FAILURE.attributes} | {
        "rhost": 255,
        "user": 255,
    }
    given = any(found[name] for name in ("uid", "tty", "rhost", "user"))
    return (
        found
        if semicolon and given and all(len(value) <= bounds[name] for name, value in found.items())
        else None
    )
