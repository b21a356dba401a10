"""PacketAnalysis in plain Python, one packet after the other: what its graph must report.

It shares the models of names with it; the sketches are the slow ones of `tests.operators.plain`.
"""

from __future__ import annotations

import math
import struct
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

from publicsuffixlist import PublicSuffixList

from harness.applications.packet_analysis import (
    CHANNELS,
    CLIENT,
    DGA,
    DOMAIN,
    FAILED,
    LISTED,
    ON_LIST,
    SERVICES,
    TUNNEL,
    WEIGHTS,
    WINDOW,
    class_of,
    features_of,
    natural_shares,
)
from tests.operators import plain

suffixes = cache(PublicSuffixList)


def reference(data: bytes, sources: int) -> list[dict[str, object]]:
    """The reports about a capture that is gone through once, in any order.

    A plain program, by which the graph is checked: it shares nothing with it but models of names,
    and the slow sketches. Channels matter to what sketches find, so it has them, too.
    """
    windows: dict[tuple[int, int], _Window] = {}
    for time, ip in packets_of(data):
        query = _query(ip)
        if query is None:
            continue
        hashed = plain.hash_of(query["client"])
        source, channel = (hashed % 2**32) * sources >> 32, (hashed >> 32) * CHANNELS >> 32
        begin = time // WINDOW * WINDOW
        windows.setdefault((begin, source * CHANNELS + channel), _Window()).take(query)
    sums: dict[tuple[int, int, str], _Sum] = defaultdict(_Sum)
    for (begin, _), window in windows.items():
        for kind, key, count, amount, letters, registers in window.alerts():
            sums[begin, kind, key].add(count, amount, letters, registers)
    reports = []
    for (begin, kind, key), total in sums.items():
        text = total.text(kind, key)
        if text is not None:
            reports.append(
                {"end": begin + WINDOW, "count": total.count, "kind": kind, "text": text}
            )
    return reports


class _Sum:
    """Sum of the alerts of a window, a kind and a key."""

    def __init__(self) -> None:
        self.count = self.amount = 0
        self.letters, self.registers = [0] * 28, [0] * 64

    def add(
        self,
        count: int,
        amount: int,
        letters: list[int] | None = None,
        registers: list[int] | None = None,
    ) -> None:
        self.count += count
        self.amount += amount
        self.letters = (
            [a + b for a, b in zip(self.letters, letters or self.letters, strict=True)]
            if letters
            else self.letters
        )
        self.registers = list(map(max, self.registers, registers)) if registers else self.registers

    def text(self, kind: int, key: str) -> str | None:
        """The report; None: it is not worth one."""
        count, amount = self.count, self.amount
        if kind == DGA:
            worth = count >= 5 and 2 * amount >= count
            text = f"{key} asked for {count} made-up names, {amount} are not there"
        elif kind == TUNNEL:
            names = min(plain.hyperloglog_estimate(self.registers), count)
            letters = sum(self.letters)
            shares = (
                [1000 * letter // letters for letter in self.letters]
                if letters
                else list(natural_shares())
            )
            departure = (
                sum(
                    abs(share - natural)
                    for share, natural in zip(shares, natural_shares(), strict=True)
                )
                // 2
            )
            worth = names >= 20 and departure >= 250 and amount >= 24 * count
            text = f"{key}: {names} names in {count} questions carry {amount} bytes"
        elif kind == CLIENT:
            worth, text = True, f"{key}: about {count} packets"
        elif kind == DOMAIN:
            worth, text = count >= 100, f"{key}: {count} questions"
        elif kind == FAILED:
            worth = count >= 10 and 10 * count >= amount
            text = f"{key}: {count} of {amount} answers"
        else:
            worth, text = True, f"{key}: {count} questions"
        return text if worth else None


class _Window:
    """State of a channel for one window."""

    def __init__(self) -> None:
        self.made_up: list[tuple[str, int]] = []
        self.tunnels: dict[str, tuple[_Sum, list[int]]] = {}
        self.clients: Counter[bytes] = Counter()
        self.domains: Counter[str] = Counter()
        self.codes, self.answers, self.blocked = [0] * 5, 0, 0

    def take(self, query: dict[str, Any]) -> None:
        """Count a question or an answer."""
        name, domain, label, answer, code = (
            query[each] for each in ("name", "domain", "label", "answer", "code")
        )
        blocked = _is_below(name, LISTED)
        client = _address_text(query["client"])
        if (
            answer
            and not blocked
            and query["type"] in (1, 28)
            and len(label) >= 7
            and _chance(label) >= 0.5
        ):
            self.made_up.append((client, int(code == 3)))
        below = name[: len(name) - len(domain)]  # with its last dot
        enough = len(below) >= (6 if query["type"] in (16, 10) else 17)
        look_up = name.endswith(".arpa") or _begins_with_address(name.split("."))
        if not answer and not blocked and enough and not look_up:
            total, registers = self.tunnels.setdefault(domain[-92:], (_Sum(), [0] * 64))
            letters = [0] * 28
            for letter in below[:-1].replace(".", ""):
                letters[class_of(letter)] += 1
            total.add(1, len(below) - 1, letters)
            plain.hyperloglog_add(registers, plain.hash_of(below[:-1].encode()))
        self.clients[client] += 1
        if answer:
            self.answers += 1
            if code:
                self.codes[{1: 0, 2: 1, 3: 2, 5: 3}.get(code, 4)] += 1
        else:
            self.domains[domain] += 1
            self.blocked += blocked

    def alerts(self) -> Iterator[tuple[int, str, int, int, list[int] | None, list[int] | None]]:
        """Yield the alerts of the channel when the window is over."""
        for client, missing in self.made_up:
            yield DGA, client, 1, missing, None, None
        for domain, (total, registers) in self.tunnels.items():
            if not _is_below(domain, SERVICES):
                yield TUNNEL, domain, total.count, total.amount, total.letters, registers
        for client, count in self.clients.items():
            for _ in range(count // 100):
                yield CLIENT, client, 100, 0, None, None
        for domain, count in self.domains.items():
            yield DOMAIN, domain[-92:], count, 0, None, None
        if self.answers:
            for name, count in zip(
                ("FORMERR", "SERVFAIL", "NXDOMAIN", "REFUSED", "other codes"),
                self.codes,
                strict=True,
            ):
                yield FAILED, name, count, self.answers, None, None
        if self.blocked:
            yield ON_LIST, "block list", self.blocked, 0, None, None


def _is_below(name: str, domains: tuple[str, ...]) -> bool:
    """One of the domains, or below one."""
    return any(name == domain or name.endswith("." + domain) for domain in domains)


def _begins_with_address(labels: list[str]) -> bool:
    """Four numbers of a byte, or 32 hexadecimal digits, behind nothing but numbers and digits."""
    numbers = digits = 0
    for label in labels:
        number = label.isdigit() and len(label) < 9 and int(label) < 256
        digit = len(label) == 1 and label in "0123456789abcdef"
        numbers, digits = numbers + 1 if number else 0, digits + 1 if digit else 0
        if numbers == 4 or digits == 32:
            return True
        if not number and not digit:
            return False
    return False


def _chance(label: str) -> float:
    """That a label was made up."""
    total = WEIGHTS[0]
    for weight, feature in zip(WEIGHTS[1:], features_of(label), strict=True):
        total += weight * feature
    return 1.0 / (1.0 + math.exp(-total))


def _address_text(client: bytes) -> str:
    if client.startswith(bytes(10) + b"\xff\xff"):
        return ".".join(map(str, client[12:]))
    return ":".join(f"{word:x}" for word in struct.unpack(">8H", client))


def _query(ip: bytes) -> dict[str, Any] | None:
    """A plain question or answer in a packet of UDP; None: there is none."""
    if ip[0] >> 4 == 4:
        source, target = (bytes(10) + b"\xff\xff" + ip[place : place + 4] for place in (12, 16))
        protocol, at, length = ip[9], 4 * (ip[0] & 15), int.from_bytes(ip[2:4], "big")
        if (ip[6] << 8 | ip[7]) & 0x1FFF:
            return None
        end = length if at <= length < len(ip) else len(ip)
    else:
        source, target, protocol, at = ip[8:24], ip[24:40], ip[6], 40
        length = int.from_bytes(ip[4:6], "big") + 40
        end = length if 40 < length < len(ip) else len(ip)
        for _ in range(16):
            if at + 8 > len(ip):
                break
            if protocol in (0, 43, 60, 135, 139, 140):
                protocol, at = ip[at], at + 8 * (ip[at + 1] + 1)
            elif protocol == 51:
                protocol, at = ip[at], at + 4 * (ip[at + 1] + 2)
            elif protocol == 44:
                if (ip[at + 2] << 8 | ip[at + 3]) >> 3:
                    return None
                protocol, at = ip[at], at + 8
            else:
                break
    if protocol != 17 or at + 8 > end or 53 not in struct.unpack(">HH", ip[at : at + 4]):
        return None
    message = ip[at + 8 : min(end, at + 8 + 276)]
    if len(message) < 12:
        return None
    flags, questions = struct.unpack(">HH", message[2:6])
    labels, place = [], 12
    try:
        while message[place]:
            length = message[place]
            label = message[place + 1 : place + 1 + length]
            if length > 63 or len(label) < length:
                return None
            labels.append("".join(map(_letter, label)))
            place += 1 + length
        kind, network = struct.unpack(">HH", message[place + 1 : place + 5])
    except (IndexError, struct.error):
        return None
    name, answer = ".".join(labels), flags >= 0x8000
    if len(name) > 253 or not labels or flags & 0x7800 or questions != 1 or network != 1:
        return None
    domain = suffixes().privatesuffix(name) or name
    found = {
        "client": target if answer else source,
        "answer": answer,
        "code": flags & 15,
        "type": kind,
        "name": name,
    }
    return found | {"domain": domain, "label": domain.split(".")[0]}


def _letter(byte: int) -> str:
    letter = chr(byte).lower() if byte < 128 else "?"
    return letter if letter.isalnum() or letter in "-_" else "?"


LATENESS = JUMP = 3600 * 10**9


def packets_of(data: bytes) -> list[tuple[int, bytes]]:
    """The IP packets of a capture from their header on, ordered by time [ns]; what is late or cannot
    be read is left out.
    """
    found, times, latest = [], [], 0
    for time, link, frame in _pcapng(data) if data.startswith(b"\x0a\x0d\x0d\x0a") else _pcap(data):
        late = len(times) >= 5 and time < latest - LATENESS
        late = late and time < plain.reached(times, JUMP) - LATENESS
        times.append(time)
        latest = max(latest, time)
        skipped = {0: 4, 108: 4, 101: 0, 12: 0, 14: 0, 228: 0, 229: 0}.get(link)
        if link in (1, 113):
            skipped = _behind_type(frame, 12 if link == 1 else 14)
        if link == 276:
            skipped = 20 if frame[:2] in (b"\x08\0", b"\x86\xdd") else None
        if skipped is None or skipped >= len(frame) or late:
            continue
        ip = frame[skipped:]
        if (ip[0] >> 4 == 4 and ip[0] & 15 >= 5 and len(ip) >= 20) or (
            ip[0] >> 4 == 6 and len(ip) >= 40
        ):
            found.append((time, ip))
    return sorted(found, key=lambda each: each[0])


def _behind_type(frame: bytes, place: int) -> int | None:
    """Return the offset of an IP packet behind an Ethernet type and tags of VLANs."""
    while place + 6 <= len(frame):
        if frame[place : place + 2] in (b"\x81\0", b"\x88\xa8", b"\x91\0", b"\x92\0"):
            place += 4
        elif frame[place : place + 2] in (b"\x08\0", b"\x86\xdd"):
            return place + 2
        else:
            return None
    return None


def _pcap(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    order, unit = {
        b"\xd4\xc3\xb2\xa1": ("<", 1000),
        b"\xa1\xb2\xc3\xd4": (">", 1000),
        b"\x4d\x3c\xb2\xa1": ("<", 1),
        b"\xa1\xb2\x3c\x4d": (">", 1),
    }[data[:4]]
    (link,) = struct.unpack(f"{order}I", data[20:24])
    place = 24
    while place + 16 <= len(data):
        seconds, part, size, _ = struct.unpack(f"{order}IIII", data[place : place + 16])
        frame = data[place + 16 : place + 16 + size]
        if size > 2**18 or len(frame) < size:
            return
        if part * unit < 10**9:
            yield seconds * 10**9 + part * unit, link & 0xFFFF, frame
        place += 16 + size


def _pcapng(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    place, order, last = 0, "<", 0
    interfaces: list[tuple[int, int, int, int]] = []
    while place + 12 <= len(data):
        if data[place : place + 4] == b"\x0a\x0d\x0d\x0a":
            order = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}.get(
                data[place + 8 : place + 12]
            )
            interfaces = []
            if order is None:
                return
        kind, length = struct.unpack(f"{order}II", data[place : place + 8])
        if length < 12 or length % 4 or place + length > len(data):
            return
        body = data[place + 8 : place + length - 4]
        if struct.unpack(f"{order}I", data[place + length - 4 : place + length]) != (length,):
            return
        place += length
        if kind == 1 and len(body) >= 8:
            interfaces.append(_interface(body, order))
        elif kind in (2, 6) and len(body) >= 20:
            number, high, low, size, _ = struct.unpack(f"{order}IIIII", body[:20])
            number = number if kind == 6 else struct.unpack(f"{order}H", body[:2])[0]
            if number < len(interfaces) and size <= len(body) - 20:
                link, _, per_second, offset = interfaces[number]
                seconds, ticks = divmod(high << 32 | low, per_second)
                if seconds < 2**32:
                    last = (seconds + offset) * 10**9 + ticks * 10**9 // per_second
                    yield (
                        (seconds + offset) * 10**9 + ticks * 10**9 // per_second,
                        link,
                        body[20 : 20 + size],
                    )
        elif kind == 3 and len(body) >= 4 and interfaces:
            size = min(
                struct.unpack(f"{order}I", body[:4])[0], len(body) - 4, interfaces[0][1] or 2**32
            )
            yield last, interfaces[0][0], body[4 : 4 + size]


def _interface(body: bytes, order: str) -> tuple[int, int, int, int]:
    """Link type, most bytes of a packet, ticks a second, and seconds to add."""
    link, _, snap = struct.unpack(f"{order}HHI", body[:8])
    per_second, offset, place = 10**6, 0, 8
    while place + 4 <= len(body):
        code, length = struct.unpack(f"{order}HH", body[place : place + 4])
        value = body[place + 4 : place + 4 + length]
        if code == 0 or len(value) < length:
            break
        if code == 9 and length == 1:
            per_second = 2 ** min(value[0] & 127, 62) if value[0] & 128 else 10 ** min(value[0], 18)
        if code == 14 and length == 8:
            (given,) = struct.unpack(f"{order}q", value)
            offset = given if abs(given) < 2**31 else 0
        place += 4 + (length + 3) // 4 * 4
    return link, snap, per_second, offset
