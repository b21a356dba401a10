"""PacketAnalysis (M19 §4.3): made-up names, tunnels and volumes in the packets of DNS.

274 S + 113 operators for S sources, as the paper's: 387 with one, 2,305 with eight. A source has a volume meter and 16 channels
of 17 operators; all share a merge, three analyses of 12 lanes, and a sink. What each does is in native/packet_analysis.hpp.
"""

from __future__ import annotations

import heapq
import math
import random
import struct
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from harness.applications import packets
from harness.applications.given_input import read_input
from harness.errors import UserError
from harness.graph import Graph, Operator
from harness.graph.schema import Schema
from harness.operators import plain
from harness.operators.compiled import Compiled, collect, kept

CHANNELS, LANES = 16, 12
ANALYSES = ("made-up names", "tunnels", "volumes")

PACKET = Schema("packet", {"time": "time", "hash": "uint64", "wire": "uint32", "size": "uint32", "data": "bytes[320]"})
QUERY = Schema(
    "query",
    {
        "time": "time",
        "hash": "uint64",
        "client": "bytes[16]",
        "wire": "uint32",
        "type": "uint16",
        "code": "uint8",
        "flags": "uint8",
        "domain": "uint16",
        "label_end": "uint16",
        "name": "string[256]",
    },
)
LABEL = Schema(
    "label",
    {
        "time": "time",
        "client": "bytes[16]",
        "wire": "uint32",
        "code": "uint32",
        "entropy": "float64",
        "digits": "float64",
        "likelihood": "float64",
        "chance": "float64",
        "label": "string[68]",
    },
)
TUNNELLED = Schema(
    "tunnelled",
    {
        "time": "time",
        "name": "uint64",
        "wire": "uint32",
        "length": "uint32",
        "domain": "string[92]",
        "letters": "bytes[28]",
        "spare": "uint32",
    },
)
ALERT = Schema(
    "alert",
    {
        "time": "time",
        "count": "uint64",
        "amount": "uint64",
        "kind": "uint32",
        "way": "uint32",
        "key": "string[92]",
        "letters": "bytes[112]",
        "registers": "bytes[64]",
    },
)
REPORT = Schema("report", {"end": "time", "count": "uint64", "kind": "uint32", "text": "string[176]"})
SCHEMAS = (PACKET, QUERY, LABEL, TUNNELLED, ALERT, REPORT)

DGA, TUNNEL, CLIENT, DOMAIN, FAILED, ON_LIST = range(6)
"""What a report is of: its attribute `kind`."""

WINDOW = 20 * 10**9
"""Of all counts [ns]: tumbling, by the time of packets."""

LISTED = ("malware.example", "phishing.example", "botnet.example", "clicks.invalid")
"""The block list: reserved names, which the generated input asks for."""

WEIGHTS = (-22.4631, 0.4568, -1.7053, 0.2292, -5.8776)
"""Logistic regression of a label being made up, on 1, length, entropy [bit], share of digits, mean log likelihood of its pairs.

From fit_names.py: fitted to 20,000 natural labels (words 20,001 to 60,000 of wordfreq 3.1.1's English list, alone, behind
another word, with a number) and 20,000 made-up ones (random letters; random letters and digits; random hexadecimal digits). On
10,000 more of each, 2.8 % of the natural ones were taken for made up, and 4.0 % of the made-up ones for natural.
"""

COSTS = {"packets": 150, "query": 150, "label": 100, "alert": 100}
"""About what a tuple costs [FLOP], for the size of batches."""


# -- models of names ----------------------------------------------------------------------------------------------------------


def class_of(letter: str) -> int:
    """The class of a character of a name: 26 letters, digits, all others."""
    return ord(letter) - 97 if "a" <= letter <= "z" else 26 if "0" <= letter <= "9" else 27


@cache
def counted_pairs() -> tuple[tuple[int, ...], ...]:
    """How often each letter follows each other one in the 20,000 most frequent English words of wordfreq 3.1.1 (fit_names)."""
    lines = (Path(__file__).parent / "letter_pairs.csv").read_text().split()
    return tuple(tuple(map(int, line.split(","))) for line in lines)


@cache
def likelihoods() -> tuple[tuple[float, ...], ...]:
    """The logarithm of how likely each class of characters follows each other one, with one more of each pair (Laplace)."""
    counts = [[1 + (counted_pairs()[i][j] if i < 26 and j < 26 else 0) for j in range(28)] for i in range(28)]
    return tuple(tuple(math.log(count / sum(row)) for count in row) for row in counts)


@cache
def natural_shares() -> tuple[int, ...]:
    """The shares of classes of characters in natural names, in thousandths."""
    rows = [sum(row) for row in counted_pairs()]
    return (*(1000 * row // sum(rows) for row in rows), 0, 0)


@cache
def logarithms() -> tuple[float, ...]:
    """To the base 2, of 0 (taken as 0) to 64."""
    return (0.0, *(math.log2(number) for number in range(1, 65)))


def features_of(label: str) -> tuple[float, float, float, float]:
    """Of a label: length, entropy [bit], share of digits, mean log likelihood of its pairs."""
    length = len(label)
    entropy = likelihood = 0.0
    for count in map(label.count, dict.fromkeys(label)):
        entropy += count * logarithms()[count]
    for one, other in pairwise(label):
        likelihood += likelihoods()[class_of(one)][class_of(other)]
    return (
        length,
        logarithms()[length] - entropy / length,
        sum(map(str.isdigit, label)) / length,
        likelihood / (length - 1),
    )


# -- input --------------------------------------------------------------------------------------------------------------------


def input_of(records: int, seed: int, path: str) -> tuple[bytes, bool]:
    """A capture: generated, or of the file `path`; and whether its gzip is truncated.

    Raises UserError, in one line, for a file that is none, or in which no packet can be read.
    """
    if not path:
        return generate(records, seed), False
    given = read_input(path)
    capture = packets.Capture(given.data)
    if not capture.known or len(capture) == 0:
        found = "no packet in it can be read" if capture.known else "it begins as neither"
        raise UserError(f"{path}: must be packets in pcap or pcapng; {found}")
    return given.data, given.truncated


_TEXT = (
    "air art bank base bay best blue book box bright care cast city clear cloud coast code craft data day deal direct dream "
    "drive earth east farm fast field film fine first fish flow food forest fresh game garden gate gold good grand green "
    "group guide hall hand health home house idea island job key kids lake land law life light line link list live local "
    "mail map mark market media mind music net news night north ocean office open page paper park photo plan play point "
    "post power press prime quick radio rain read river road rock room safe school sea search serve shop show silver sky "
    "smart snow sound south space sport star stone store street sun table talk team tech time tour town track trade travel "
    "tree true trust view voice walk watch water wave web west wind wood word work world yard young zone"
)
WORDS = tuple(_TEXT.split())
ENDINGS = ("com", "com", "com", "net", "org", "de", "io", "co.uk", "info")
HOSTS = ("www", "www", "mail", "api", "cdn", "static", "img", "login", "")
CLIENTS, IPV6 = 300, 0.2
DOMAINS, SLOPE = 3000, 0.91
MADE_UP, TUNNELS, ASKS_LISTED = 0.04, 0.02, 0.001  # shares of look-ups
UNANSWERED = 0.23  # Jung et al., DNS performance and the effectiveness of caching, 2002
MISSING, FAILING = 0.09, 0.03  # shares of natural answers
GAP = 1_800_000  # ns between two look-ups, on average


def generate(records: int, seed: int) -> bytes:
    """A pcap file of questions and answers, over IPv4 and IPv6, whose shares are like those of real captures."""
    draw = random.Random(seed)
    chance, pick = draw.random, draw.choice
    clients = [_client(number, draw) for number in range(CLIENTS)]
    infected, tunnelling = clients[100:103], clients[200:202]
    names = [
        f"{pick(WORDS)}{pick(('', pick(WORDS), '-' + pick(WORDS), str(number % 50)))}.{pick(ENDINGS)}"
        for number in range(DOMAINS)
    ]
    picked = iter(draw.choices(names, [rank**-SLOPE for rank in range(1, DOMAINS + 1)], k=records + 1))
    asking = iter(draw.choices(clients, [1 / rank for rank in range(1, CLIENTS + 1)], k=records + 1))
    now, number = 1_700_000_000 * 10**9, 0
    waiting: list[tuple[int, int, bytes]] = []  # packets that are to come: answers come later than what is asked next
    out = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)]
    while len(out) <= records:
        while waiting and waiting[0][0] <= now and len(out) <= records:
            time, _, packet = heapq.heappop(waiting)
            out.append(struct.pack("<IIII", time // 10**9, time % 10**9 // 1000, len(packet), len(packet)) + packet)
        what, client, kind, missing = chance(), next(asking), 1, MISSING
        if what < TUNNELS:
            client, kind, missing = pick(tunnelling), 16, 0.0
            text = "".join(pick("abcdefghijklmnopqrstuvwxyz234567") for _ in range(draw.randrange(40, 90)))
            name = f"{text[:45]}.{text[45:] or 'x'}.t{tunnelling.index(client)}.example"
        elif what < TUNNELS + MADE_UP:
            client, missing = pick(infected), 0.95
            name = "".join(pick("abcdefghijklmnopqrstuvwxyz") for _ in range(draw.randrange(9, 18))) + ".net"
        elif what < TUNNELS + MADE_UP + ASKS_LISTED:
            name = pick(LISTED)
        else:
            host, kind = pick(HOSTS), 28 if chance() < 0.3 else 1
            name = f"{host}.{next(picked)}" if host else next(picked)
        identity, question = draw.getrandbits(16), _question(name, kind)
        number += 2
        heapq.heappush(
            waiting, (now, number, _framed(client, True, struct.pack(">6H", identity, 0x0100, 1, 0, 0, 0) + question))
        )
        if chance() >= UNANSWERED:
            code = 3 if chance() < missing else 2 if chance() < FAILING else 0
            data = {1: b"\xc0\x00\x02\x07", 28: bytes(15) + b"\x07", 16: b"\x5f" + b"d" * 95}[kind]
            answers = 0 if code else draw.randrange(1, 4)
            each = struct.pack(">HHHIH", 0xC00C, kind, 1, 300, len(data)) + data
            message = struct.pack(">6H", identity, 0x8180 | code, 1, answers, 0, 0) + question + each * answers
            heapq.heappush(waiting, (now + draw.randrange(10**5, 4 * 10**7), number + 1, _framed(client, False, message)))
        now += int(draw.expovariate(1.0 / GAP))
    return b"".join(out)


ETHERNET = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02"
SERVER4, SERVER6 = bytes((10, 0, 0, 53)), bytes.fromhex("fd000000000000000000000000000053")


def _client(number: int, draw: random.Random) -> bytes:
    """An address."""
    if draw.random() < IPV6:
        return bytes.fromhex("fd00") + bytes(12) + struct.pack(">H", number + 256)
    return bytes((10, 1 + number // 200, number % 200, draw.randrange(1, 255)))


def _framed(client: bytes, asks: bool, message: bytes) -> bytes:
    """A message in a frame, from or to a client."""
    server = SERVER4 if len(client) == 4 else SERVER6
    ends, ports = ((client, server), (40000, 53)) if asks else ((server, client), (53, 40000))
    udp = struct.pack(">HHHH", *ports, 8 + len(message), 0)
    if len(client) == 16:
        return ETHERNET + b"\x86\xdd" + struct.pack(">IHBB", 6 << 28, 8 + len(message), 17, 64) + b"".join(ends) + udp + message
    header = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(message), 0, 0, 64, 17, 0) + b"".join(ends)
    total = sum(struct.unpack(">10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    check = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return ETHERNET + b"\x08\0" + header[:10] + struct.pack(">H", check) + header[12:] + udp + message


def _question(name: str, kind: int) -> bytes:
    return b"".join(bytes((len(label),)) + label.encode() for label in name.split(".")) + struct.pack(">BHH", 0, kind, 1)


# -- graph --------------------------------------------------------------------------------------------------------------------


class PacketAnalysis:
    """The graph, and what its operators count; the sink keeps the first `keep` reports."""

    def __init__(self, data: bytes, truncated: bool, cycles: int, sources: int, by_hand: bool, keep: int = 0) -> None:
        self.graph = graph = Graph("packet-analysis", payload=0)
        graph.counts = self.counts
        self.capture = packets.Capture(data)
        self.truncated = truncated or self.capture.truncated
        self.sources: list[Compiled] = []
        self.meters: list[Compiled] = []
        self.parsers: list[Compiled] = []
        self.checks: list[Compiled] = []
        self.lists: list[Compiled] = []
        self.sink = collect(REPORT, keep)
        self.model = packets.Model(logarithms(), likelihoods())
        merge = self._add("merge", packets.merge_alerts(CHANNELS * sources), ALERT, [ALERT] * len(ANALYSES), "alert")
        for source in range(sources):
            self.sources.append(packets.source(self.capture, source, sources, cycles))
            self.meters.append(packets.volume_meter(CHANNELS))
            read = graph.typed_source(f"packets{source}", self.sources[-1].step, PACKET, cost=COSTS["packets"])
            meter = self._add(f"meter{source}", self.meters[-1], PACKET, [PACKET] * CHANNELS, "packets")
            graph.connect(read, meter)
            for channel in range(CHANNELS):
                head = self._channel(f"{source}.{channel}", source * CHANNELS + channel, merge)
                graph.connect(meter.output(channel), head)
                if by_hand:
                    graph.threaded_port(head)
        if by_hand:
            graph.threaded_port(merge)
        sink = graph.typed_sink("reports", self.sink.process, REPORT)
        for number, analysis in enumerate(ANALYSES):
            router = self._add(f"{analysis}", packets.route_alerts(), ALERT, [ALERT] * LANES, "alert")
            graph.connect(merge.output(number), router)
            for lane in range(LANES):
                window = self._add(f"{analysis} window{lane}", packets.aggregate_alerts(), ALERT, ALERT, "alert")
                enough = self._add(f"{analysis} threshold{lane}", packets.threshold(natural_shares()), ALERT, ALERT, "alert")
                words = self._add(f"{analysis} format{lane}", packets.format_alerts(), ALERT, REPORT, "alert")
                graph.connect(router.output(lane), window)
                graph.chain(window, enough, words, sink)

    def _add(self, name: str, compiled: Compiled, takes: object, gives: object, cost: str) -> Operator:
        return self.graph.typed(name, compiled.process, takes, gives, finish=compiled.finish, cost=COSTS[cost])

    def _channel(self, name: str, way: int, merge: Operator) -> Operator:
        """The 17 operators of a channel; the first one."""
        graph = self.graph

        def add(what: str, compiled: Compiled, takes: object, gives: object, cost: str) -> Operator:
            return self._add(f"{what}{name}", compiled, takes, gives, cost)

        self.parsers.append(packets.parse_dns())
        self.checks.append(packets.valid_only())
        self.lists.append(packets.block_list(LISTED))
        head = add("parse", self.parsers[-1], PACKET, QUERY, "query")
        valid = add("valid only", self.checks[-1], QUERY, QUERY, "query")
        domain = add("domain", packets.find_domain(), QUERY, QUERY, "query")
        listed = add("block list", self.lists[-1], QUERY, QUERY, "query")
        graph.chain(head, valid, domain, listed)
        labels = add("labels only", packets.labels_only(), QUERY, LABEL, "query")
        lexical = add("lexical", packets.lexical(self.model), LABEL, LABEL, "label")
        pairs = add("pairs", packets.pair_score(self.model), LABEL, LABEL, "label")
        logistic = add("logistic", packets.logistic(WEIGHTS), LABEL, LABEL, "label")
        made_up = add("made-up only", packets.made_up_only(way), LABEL, ALERT, "label")
        graph.chain(listed, labels, lexical, pairs, logistic, made_up, merge)
        long = add("long only", packets.long_only(), QUERY, QUERY, "query")
        below = add("sub-domain", packets.sub_domain(), QUERY, TUNNELLED, "query")
        different = add("names", packets.names_of_domain(way), TUNNELLED, ALERT, "label")
        several = add("several only", packets.several_only(), ALERT, ALERT, "alert")
        graph.chain(listed, long, below, different, several, merge)
        rates = add("rates", packets.emit_rates(), [ALERT] * 3, ALERT, "alert")
        made = (("clients", packets.busy_clients), ("domains", packets.top_domains), ("codes", packets.answer_codes))
        for port, (what, counter) in enumerate(made):
            graph.chain(listed, add(what, counter(way), QUERY, ALERT, "query"), rates.input(port))
        graph.connect(rates, merge)
        return head

    def counts(self) -> dict[str, int]:
        """Packets read, those of another kind, those that could not be read, and what came out."""
        return {
            "records": sum(source.counted(0) + source.counted(2) for source in self.sources),
            "others": sum(source.counted(1) for source in self.sources) + sum(parser.counted(0) for parser in self.parsers),
            "broken": sum(source.counted(2) for source in self.sources) + sum(parser.counted(1) for parser in self.parsers),
            "truncated": int(self.truncated),
            "invalid": sum(check.counted(0) for check in self.checks),
            "blocked": sum(listed.counted(0) for listed in self.lists),
            "bytes": sum(meter.counted(1) for meter in self.meters),
            "reports": self.sink.counted(0),
        }

    def results(self) -> list[dict[str, object]]:
        """The reports that the sink has kept, in the order in which they came."""
        return kept(self.sink, REPORT)


# -- the same, one packet after the other -------------------------------------------------------------------------------------


def reference(data: bytes, sources: int) -> list[dict[str, object]]:
    """The reports about a capture that is gone through once, in any order.

    A plain program, by which the graph is checked: it shares nothing with it but models of names, and the slow sketches.
    Channels matter to what sketches find, so it has them, too.
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
            reports.append({"end": begin + WINDOW, "count": total.count, "kind": kind, "text": text})
    return reports


class _Sum:
    """What alerts of a window, a kind and a key come to."""

    def __init__(self) -> None:
        self.count = self.amount = 0
        self.letters, self.registers = [0] * 28, [0] * 64

    def add(self, count: int, amount: int, letters: list[int] | None = None, registers: list[int] | None = None) -> None:
        self.count += count
        self.amount += amount
        self.letters = [a + b for a, b in zip(self.letters, letters or self.letters, strict=True)] if letters else self.letters
        self.registers = list(map(max, self.registers, registers)) if registers else self.registers

    def text(self, kind: int, key: str) -> str | None:
        """The report; None: it is not worth one."""
        count, amount = self.count, self.amount
        if kind == DGA:
            worth, text = count >= 5 and 2 * amount >= count, f"{key} asked for {count} made-up names, {amount} are not there"
        elif kind == TUNNEL:
            names, letters = plain.hyperloglog_estimate(self.registers), sum(self.letters)
            shares = [1000 * letter // letters for letter in self.letters] if letters else list(natural_shares())
            departure = sum(abs(share - natural) for share, natural in zip(shares, natural_shares(), strict=True)) // 2
            worth, text = names >= 20 and departure >= 250, f"{key}: {names} names in {count} questions carry {amount} bytes"
        elif kind == CLIENT:
            worth, text = True, f"{key}: about {count} packets"
        elif kind == DOMAIN:
            worth, text = count >= 100, f"{key}: {count} questions, at most {amount} too many"
        elif kind == FAILED:
            worth, text = count >= 10 and 10 * count >= amount, f"{key}: {count} of {amount} answers"
        else:
            worth, text = True, f"{key}: {count} questions"
        return text if worth else None


class _Window:
    """What a channel keeps of a window."""

    def __init__(self) -> None:
        self.made_up: list[tuple[str, int]] = []
        self.tunnels: dict[str, tuple[_Sum, list[int]]] = {}
        self.clients, self.busy = plain.CountMin(1024, 4), []
        self.domains = plain.SpaceSaving(100)
        self.codes, self.answers, self.blocked = [0] * 5, 0, 0

    def take(self, query: dict[str, Any]) -> None:
        """Count a question or an answer."""
        name, domain, label, answer, code = (query[each] for each in ("name", "domain", "label", "answer", "code"))
        blocked = domain in LISTED
        client = _address_text(query["client"])
        if answer and not blocked and query["type"] in (1, 28) and len(label) >= 7 and _chance(label) >= 0.5:
            self.made_up.append((client, int(code == 3)))
        below = name[: len(name) - len(domain)]  # with its last dot
        if not answer and not blocked and len(below) >= (6 if query["type"] in (16, 10) else 17):
            total, registers = self.tunnels.setdefault(domain[-92:], (_Sum(), [0] * 64))
            letters = [0] * 28
            for letter in below[:-1].replace(".", ""):
                letters[class_of(letter)] += 1
            total.add(1, len(below) - 1, letters)
            plain.hyperloglog_add(registers, plain.hash_of(below[:-1].encode()))
        if self.clients.add(query["client"]) % 100 == 0:
            self.busy.append(client)
        if answer:
            self.answers += 1
            if code:
                self.codes[{1: 0, 2: 1, 3: 2, 5: 3}.get(code, 4)] += 1
        else:
            self.domains.add(domain)
            self.blocked += blocked

    def alerts(self) -> Iterator[tuple[int, str, int, int, list[int] | None, list[int] | None]]:
        """What the channel tells when the window is over."""
        for client, missing in self.made_up:
            yield DGA, client, 1, missing, None, None
        for domain, (total, registers) in self.tunnels.items():
            if plain.hyperloglog_estimate(registers) >= 3:
                yield TUNNEL, domain, total.count, total.amount, total.letters, registers
        for client in self.busy:
            yield CLIENT, client, 100, 0, None, None
        for domain, count, error in self.domains.top(10):
            yield DOMAIN, domain[-92:], count, error, None, None
        if self.answers:
            for name, count in zip(("FORMERR", "SERVFAIL", "NXDOMAIN", "REFUSED", "other codes"), self.codes, strict=True):
                yield FAILED, name, count, self.answers, None, None
        if self.blocked:
            yield ON_LIST, "block list", self.blocked, 0, None, None


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
    """A plain question or answer in a packet; None: there is none."""
    if ip[0] >> 4 == 4:
        client, server = (bytes(10) + b"\xff\xff" + ip[place : place + 4] for place in (12, 16))
        protocol, ip, at = ip[9], ip, 4 * (ip[0] & 15)
        if (ip[6] << 8 | ip[7]) & 0x1FFF:
            return None
    else:
        client, server, protocol, at = ip[8:24], ip[24:40], ip[6], 40
        for _ in range(8):
            if protocol not in (0, 43, 60) or at + 8 > len(ip):
                break
            protocol, at = ip[at], at + 8 * (ip[at + 1] + 1)
    ip = ip[:320]
    if protocol != 17 or at + 8 > len(ip):
        return None
    source, target = struct.unpack(">HH", ip[at : at + 4])
    if 53 not in (source, target):
        return None
    asks, message = target == 53, ip[at + 8 :]
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
    if len(name) > 253 or not labels or flags & 0x7800 or questions != 1 or network != 1 or answer == asks:
        return None
    second = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in ("ac", "co", "com", "edu", "gov", "ne", "net", "org")
    domain = ".".join(labels[-3:] if second else labels[-2:])
    found = {"client": client if asks else server, "answer": answer, "code": flags & 15, "type": kind, "name": name}
    return found | {"domain": domain, "label": domain.split(".")[0]}


def _letter(byte: int) -> str:
    letter = chr(byte).lower() if byte < 128 else "?"
    return letter if letter.isalnum() or letter in "-_" else "?"


def packets_of(data: bytes) -> list[tuple[int, bytes]]:
    """The IP packets of a capture from their header on, with times that never go back [ns]; what cannot be read is left out."""
    found, last = [], 0
    for time, link, frame in _pcapng(data) if data.startswith(b"\x0a\x0d\x0d\x0a") else _pcap(data):
        last = max(last, time)
        skipped = {0: 4, 108: 4, 101: 0, 12: 0, 14: 0, 228: 0, 229: 0, 113: 16, 276: 20}.get(link)
        if link == 1 and len(frame) >= 14:
            skipped = 12
            while frame[skipped : skipped + 2] in (b"\x81\0", b"\x88\xa8") and skipped + 6 <= len(frame):
                skipped += 4
            skipped += 2
        if skipped is None or skipped >= len(frame):
            continue
        ip = frame[skipped:]
        if (ip[0] >> 4 == 4 and ip[0] & 15 >= 5 and len(ip) >= 20) or (ip[0] >> 4 == 6 and len(ip) >= 40):
            found.append((last, ip))
    return found


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
        seconds, part, size, wire = struct.unpack(f"{order}IIII", data[place : place + 16])
        frame = data[place + 16 : place + 16 + size]
        if size > 2**18 or len(frame) < size:
            return
        if seconds < 2**31 and part * unit < 10**9 and wire >= size:
            yield seconds * 10**9 + part * unit, link & 0xFFFF, frame
        place += 16 + size


def _pcapng(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    place, order, last = 0, "<", 0
    interfaces: list[tuple[int, int, int, int]] = []
    while place + 12 <= len(data):
        if data[place : place + 4] == b"\x0a\x0d\x0d\x0a":
            order = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}.get(data[place + 8 : place + 12])
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
            number, high, low, size, wire = struct.unpack(f"{order}IIIII", body[:20])
            number = number if kind == 6 else struct.unpack(f"{order}H", body[:2])[0]
            if number < len(interfaces) and size <= len(body) - 20 and wire >= size:
                link, _, per_second, offset = interfaces[number]
                seconds, ticks = divmod(high << 32 | low, per_second)
                if seconds < 2**31:
                    last = max(last, (seconds + offset) * 10**9 + ticks * 10**9 // per_second)
                    yield (seconds + offset) * 10**9 + ticks * 10**9 // per_second, link, body[20 : 20 + size]
        elif kind == 3 and len(body) >= 4 and interfaces:
            size = min(struct.unpack(f"{order}I", body[:4])[0], len(body) - 4, interfaces[0][1] or 2**32)
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
