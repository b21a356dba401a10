"""PacketAnalysis (M19 §4.3): made-up names, tunnels and volumes in the packets of DNS.

274 S + 113 operators for S sources, as in the paper: 387 with one, 2,305 with eight. A source has a
volume meter and 16 channels of 17 operators; all share a merge, three analyses of 12 lanes, and a
sink. native/packet_analysis.hpp describes each operator.
"""

from __future__ import annotations

import heapq
import math
import random
import struct
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path

from harness.applications import packets
from harness.applications.given_input import StreamedInput, read_input, truncated_inputs
from harness.engine.left_out import TRUNCATED
from harness.errors import UserError
from harness.graph import Graph, Operator
from harness.graph.functions.compiled import StepFunction
from harness.graph.schema import Schema
from harness.operators.compiled import Compiled, collect, kept

CHANNELS, LANES = 16, 12
ANALYSES = ("made-up names", "tunnels", "volumes")

PACKET = Schema(
    "packet",
    {
        "time": "time",
        "hash": "uint64",
        "client": "bytes[16]",
        "wire": "uint32",
        "size": "uint32",
        "dns": "uint32",
        "data": "bytes[276]",
    },
)
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
REPORT = Schema(
    "report", {"end": "time", "count": "uint64", "kind": "uint32", "text": "string[176]"}
)
SCHEMAS = (PACKET, QUERY, LABEL, TUNNELLED, ALERT, REPORT)

DGA, TUNNEL, CLIENT, DOMAIN, FAILED, ON_LIST = range(6)
"""Subjects of a report: values of its attribute `kind`."""

WINDOW = 20 * 10**9
"""Length of the windows of all counts [ns]: tumbling, by the time of packets."""

SECOND = 10**9  # ns
RULE = (3600 * SECOND, 3600 * SECOND)
"""Lateness of packets, and the jump that a packet may make ahead [ns]; guesses."""

LINK_TYPES = {
    6: "Token Ring",
    10: "FDDI",
    105: "IEEE 802.11",
    107: "Frame Relay",
    117: "pf log",
    119: "IEEE 802.11 with Prism headers",
    127: "IEEE 802.11 with radiotap",
    143: "DOCSIS",
    147: "user 0",
    163: "IEEE 802.11 with AVS headers",
    187: "Bluetooth HCI",
    189: "USB on Linux",
    192: "PPI",
    195: "IEEE 802.15.4",
    201: "Bluetooth HCI with direction",
    220: "USB on Linux, padded",
    227: "CAN",
    230: "IEEE 802.15.4 without FCS",
    239: "NFLOG",
    249: "USBPcap",
    251: "Bluetooth LE",
    253: "Netlink",
    272: "nRF sniffer",
}
"""Names of link types that are not read (tcpdump.org, link-layer header types)."""

SERVICES = (
    *("abuseat.org", "barracudacentral.org", "dnswl.org", "mailspike.net", "senderscore.com"),
    *("sorbs.net", "spamcop.net", "spamhaus.net", "spamhaus.org", "surbl.org", "uribl.com"),
    *("cymru.com", "mcafee.com", "sophosxl.net", "trendmicro.com"),
    *("akadns.net", "akamai.net", "akamaiedge.net", "akamaized.net", "edgekey.net"),
    *("edgesuite.net", "fastly.net", "cloudflare.net", "cloudfront.net", "amazonaws.com"),
    *("azure.com", "azure.net", "azureedge.net", "azurewebsites.net", "trafficmanager.net"),
    *("windows.net", "googleusercontent.com", "googlevideo.com", "1e100.net", "gvt1.com"),
)
"""Block lists, and clouds and caches, whose names carry data as they are meant to."""

LISTED = ("malware.example", "phishing.example", "botnet.example", "clicks.invalid")
"""Block list: reserved names, for which the generated input asks."""


@dataclass(frozen=True)
class KnownDomains:
    """Lists of domains, each with all that is below them: block list, services whose names carry
    data as they are meant to, and domains of one's own, in which nothing is searched.
    """

    listed: tuple[str, ...] = LISTED
    services: tuple[str, ...] = SERVICES
    own: tuple[str, ...] = ()


WEIGHTS = (-22.4631, 0.4568, -1.7053, 0.2292, -5.8776)
"""Logistic regression for a made-up label, on 1, length, entropy [bit], share of digits, mean log
likelihood of its pairs.

From fit_names.py: fitted to 20,000 natural labels (words 20,001 to 60,000 of wordfreq 3.1.1's
English list, alone, behind another word, with a number) and 20,000 made-up ones (random letters;
random letters and digits; random hexadecimal digits). On 10,000 more of each, 2.8 % of the natural
ones were taken for made up, and 4.0 % of the made-up ones for natural."""

COSTS = {"packets": 150, "query": 150, "label": 100, "alert": 100}
"""Approximate cost of a tuple [FLOP], for the size of batches."""


# -- lists of domains ------------------------------------------------------------------------------


@cache
def public_suffixes() -> tuple[str, ...]:
    """Return the rules of the public suffix list (https://publicsuffix.org/list/), as names have
    them in DNS. The package publicsuffixlist holds the list.
    """
    text = resources.files("publicsuffixlist").joinpath("public_suffix_list.dat")
    rules = []
    for line in text.read_text(encoding="utf-8").splitlines():
        rule = line.split(" ")[0].strip().lower()
        if rule and not rule.startswith("//"):
            mark = next((mark for mark in ("!", "*.") if rule.startswith(mark)), "")
            rules.append(mark + rule.removeprefix(mark).encode("idna").decode())
    return tuple(rules)


def domains_in(path: str) -> tuple[str, ...]:
    """Return the domains in a file, one a line; what follows # is a comment, and so is an address
    before a domain, as in files of hosts. Raises UserError, in one line, for one that is none.
    """
    found = []
    for number, line in enumerate(read_input(path).data.decode(errors="replace").splitlines(), 1):
        fields = line.partition("#")[0].split()
        if not fields:
            continue
        name = fields[-1].strip(".").lower()
        try:
            domain = name.encode("idna").decode()
        except UnicodeError:
            domain = ""
        if not domain or len(fields) > 2:
            raise UserError(f"{path}: line {number} must be a domain, not {line.strip()!r:.60}")
        found.append(domain)
    return tuple(found)


# -- models of names -------------------------------------------------------------------------------


def class_of(letter: str) -> int:
    """Return the class of a character of a name: 26 letters, digits, all others."""
    return ord(letter) - 97 if "a" <= letter <= "z" else 26 if "0" <= letter <= "9" else 27


@cache
def counted_pairs() -> tuple[tuple[int, ...], ...]:
    """Return the number of times that each letter follows each other one in the 20,000 most
    frequent English words of wordfreq 3.1.1 (fit_names).
    """
    lines = (Path(__file__).parent / "letter_pairs.csv").read_text().split()
    return tuple(tuple(map(int, line.split(","))) for line in lines)


@cache
def likelihoods() -> tuple[tuple[float, ...], ...]:
    """Return the log probability that each class of characters follows each other one; each pair is
    counted once more (Laplace).
    """
    counts = [
        [1 + (counted_pairs()[i][j] if i < 26 and j < 26 else 0) for j in range(28)]
        for i in range(28)
    ]
    return tuple(tuple(math.log(count / sum(row)) for count in row) for row in counts)


@cache
def natural_shares() -> tuple[int, ...]:
    """Return the shares of classes of characters in natural names, in thousandths."""
    rows = [sum(row) for row in counted_pairs()]
    return (*(1000 * row // sum(rows) for row in rows), 0, 0)


@cache
def logarithms() -> tuple[float, ...]:
    """Return the logarithms to the base 2 of 0 (taken as 0) to 64."""
    return (0.0, *(math.log2(number) for number in range(1, 65)))


def features_of(label: str) -> tuple[float, float, float, float]:
    """Return the features of a label: length, entropy [bit], share of digits, mean log likelihood
    of its pairs.
    """
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


# -- input -----------------------------------------------------------------------------------------


def input_of(records: int, seed: int, path: str) -> tuple[bytes, bool]:
    """Return a capture: generated, or of the file `path`; and True if its gzip is truncated.

    Raises UserError, in one line, for a file that is no capture, or in which no packet can be read.
    """
    if not path:
        return generate(records, seed), False
    given = read_input(path)
    _check(path, given.data, True)
    return given.data, given.truncated


def stream_of(path: str) -> StreamedInput:
    """Return a capture that is read once, as a stream. Raises UserError as `input_of`."""
    stream = StreamedInput(path)
    _check(path, stream.head(lambda head: stream.live and len(head) >= HEADER), not stream.live)
    return stream


HEADER = 28  # bytes that show what a capture is


def _check(path: str, data: bytes, has_packets: bool) -> None:
    capture = packets.Capture(data)
    if not capture.known or (has_packets and len(capture) == 0):
        found = "no packet in it can be read" if capture.known else "it begins as neither"
        raise UserError(f"{path}: must be packets in pcap or pcapng; {found}")


_TEXT = (
    "air art bank base bay best blue book box bright care cast city clear cloud coast code "
    "craft data day deal direct dream "
    "drive earth east farm fast field film fine first fish flow food forest fresh game garden "
    "gate gold good grand green "
    "group guide hall hand health home house idea island job key kids lake land law life light "
    "line link list live local "
    "mail map mark market media mind music net news night north ocean office open page paper "
    "park photo plan play point "
    "post power press prime quick radio rain read river road rock room safe school sea search "
    "serve shop show silver sky "
    "smart snow sound south space sport star stone store street sun table talk team tech time "
    "tour town track trade travel "
    "tree true trust view voice walk watch water wave web west wind wood word work world yard "
    "young zone"
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
    """Return a pcap file of questions and answers, over IPv4 and IPv6, whose shares are like those
    of real captures.
    """
    draw = random.Random(seed)
    chance, pick = draw.random, draw.choice
    clients = [_client(number, draw) for number in range(CLIENTS)]
    infected, tunnelling = clients[100:103], clients[200:202]
    names = [
        f"{pick(WORDS)}{pick(('', pick(WORDS), '-' + pick(WORDS), str(number % 50)))}"
        f".{pick(ENDINGS)}"
        for number in range(DOMAINS)
    ]
    picked = iter(
        draw.choices(names, [rank**-SLOPE for rank in range(1, DOMAINS + 1)], k=records + 1)
    )
    asking = iter(
        draw.choices(clients, [1 / rank for rank in range(1, CLIENTS + 1)], k=records + 1)
    )
    now, number = 1_700_000_000 * 10**9, 0
    # future packets: an answer may come after the next questions
    waiting: list[tuple[int, int, bytes]] = []
    out = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)]
    while len(out) <= records:
        while waiting and waiting[0][0] <= now and len(out) <= records:
            time, _, packet = heapq.heappop(waiting)
            out.append(
                struct.pack("<IIII", time // 10**9, time % 10**9 // 1000, len(packet), len(packet))
                + packet
            )
        what, client, kind, missing = chance(), next(asking), 1, MISSING
        if what < TUNNELS:
            client, kind, missing = pick(tunnelling), 16, 0.0
            text = "".join(
                pick("abcdefghijklmnopqrstuvwxyz234567") for _ in range(draw.randrange(40, 90))
            )
            name = f"{text[:45]}.{text[45:] or 'x'}.t{tunnelling.index(client)}.example"
        elif what < TUNNELS + MADE_UP:
            client, missing = pick(infected), 0.95
            name = (
                "".join(pick("abcdefghijklmnopqrstuvwxyz") for _ in range(draw.randrange(9, 18)))
                + ".net"
            )
        elif what < TUNNELS + MADE_UP + ASKS_LISTED:
            name = pick(LISTED)
        else:
            host, kind = pick(HOSTS), 28 if chance() < 0.3 else 1
            name = f"{host}.{next(picked)}" if host else next(picked)
        identity, question = draw.getrandbits(16), _question(name, kind)
        number += 2
        heapq.heappush(
            waiting,
            (
                now,
                number,
                _framed(client, True, struct.pack(">6H", identity, 0x0100, 1, 0, 0, 0) + question),
            ),
        )
        if chance() >= UNANSWERED:
            code = 3 if chance() < missing else 2 if chance() < FAILING else 0
            data = {1: b"\xc0\x00\x02\x07", 28: bytes(15) + b"\x07", 16: b"\x5f" + b"d" * 95}[kind]
            answers = 0 if code else draw.randrange(1, 4)
            each = struct.pack(">HHHIH", 0xC00C, kind, 1, 300, len(data)) + data
            message = (
                struct.pack(">6H", identity, 0x8180 | code, 1, answers, 0, 0)
                + question
                + each * answers
            )
            heapq.heappush(
                waiting,
                (
                    now + draw.randrange(10**5, 4 * 10**7),
                    number + 1,
                    _framed(client, False, message),
                ),
            )
        now += int(draw.expovariate(1.0 / GAP))
    return b"".join(out)


ETHERNET = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02"
SERVER4, SERVER6 = bytes((10, 0, 0, 53)), bytes.fromhex("fd000000000000000000000000000053")


def _client(number: int, draw: random.Random) -> bytes:
    """Return the address of a client."""
    if draw.random() < IPV6:
        return bytes.fromhex("fd00") + bytes(12) + struct.pack(">H", number + 256)
    return bytes((10, 1 + number // 200, number % 200, draw.randrange(1, 255)))


def _framed(client: bytes, asks: bool, message: bytes) -> bytes:
    """Return a message in a frame, from or to a client."""
    server = SERVER4 if len(client) == 4 else SERVER6
    ends, ports = ((client, server), (40000, 53)) if asks else ((server, client), (53, 40000))
    udp = struct.pack(">HHHH", *ports, 8 + len(message), 0)
    if len(client) == 16:
        return (
            ETHERNET
            + b"\x86\xdd"
            + struct.pack(">IHBB", 6 << 28, 8 + len(message), 17, 64)
            + b"".join(ends)
            + udp
            + message
        )
    header = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(message), 0, 0, 64, 17, 0) + b"".join(ends)
    total = sum(struct.unpack(">10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    check = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return (
        ETHERNET + b"\x08\0" + header[:10] + struct.pack(">H", check) + header[12:] + udp + message
    )


def _question(name: str, kind: int) -> bytes:
    return b"".join(
        bytes((len(label),)) + label.encode() for label in name.split(".")
    ) + struct.pack(">BHH", 0, kind, 1)


# -- graph -----------------------------------------------------------------------------------------


class PacketAnalysis:
    """The graph, and the counters of its operators; the sink keeps the first `keep` reports."""

    def __init__(
        self,
        data: bytes | StreamedInput,
        truncated: bool,
        cycles: int,
        sources: int,
        by_hand: bool,
        keep: int = 0,
        rule: tuple[int, int] = RULE,
        known: KnownDomains | None = None,
    ) -> None:
        self.graph = graph = Graph("packet-analysis", payload=0)
        self.known = KnownDomains() if known is None else known
        self.suffixes = packets.Suffixes(public_suffixes())
        graph.counts = self.counts
        self.sources: list[Compiled] = []
        self.steps: list[StepFunction] = []
        if isinstance(data, StreamedInput):
            self.capture = packets.CaptureInPieces(rule, data.live)
            self.sources.append(self.capture.source)
            self.steps.append(data.step_of(self.capture.source))
        else:
            self.capture = packets.Capture(data, rule)
            self.sources += [
                packets.source(self.capture, source, sources, cycles) for source in range(sources)
            ]
            self.sources[0].noted = {TRUNCATED: 1} if truncated else None
            self.steps += [source.step for source in self.sources]
        # the first one tells what the capture has left out
        self.steps[0] = replace(self.steps[0], owners=(*self.steps[0].owners, self.capture))
        self.meters: list[Compiled] = []
        self.parsers: list[Compiled] = []
        self.checks: list[Compiled] = []
        self.lists: list[Compiled] = []
        self.sink = collect(REPORT, keep)
        self.model = packets.Model(logarithms(), likelihoods())
        merge = self._add(
            "merge",
            packets.merge_alerts(CHANNELS * sources),
            ALERT,
            [ALERT] * len(ANALYSES),
            "alert",
        )
        for source in range(sources):
            self.meters.append(packets.volume_meter(CHANNELS))
            read = graph.typed_source(
                f"packets{source}", self.steps[source], PACKET, cost=COSTS["packets"]
            )
            meter = self._add(
                f"meter{source}", self.meters[-1], PACKET, [PACKET] * CHANNELS, "packets"
            )
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
            router = self._add(
                f"{analysis}", packets.route_alerts(), ALERT, [ALERT] * LANES, "alert"
            )
            graph.connect(merge.output(number), router)
            for lane in range(LANES):
                window = self._add(
                    f"{analysis} window{lane}", packets.aggregate_alerts(), ALERT, ALERT, "alert"
                )
                enough = self._add(
                    f"{analysis} threshold{lane}",
                    packets.threshold(natural_shares()),
                    ALERT,
                    ALERT,
                    "alert",
                )
                words = self._add(
                    f"{analysis} format{lane}", packets.format_alerts(), ALERT, REPORT, "alert"
                )
                graph.connect(router.output(lane), window)
                graph.chain(window, enough, words, sink)

    def _add(
        self, name: str, compiled: Compiled, takes: object, gives: object, cost: str
    ) -> Operator:
        return self.graph.typed(
            name, compiled.process, takes, gives, finish=compiled.finish, cost=COSTS[cost]
        )

    def _channel(self, name: str, way: int, merge: Operator) -> Operator:
        """Add the 17 operators of a channel; return the first one."""
        graph = self.graph

        def add(what: str, compiled: Compiled, takes: object, gives: object, cost: str) -> Operator:
            return self._add(f"{what}{name}", compiled, takes, gives, cost)

        self.parsers.append(packets.parse_dns())
        self.checks.append(packets.valid_only())
        self.lists.append(packets.block_list(self.known.listed, self.known.own))
        head = add("parse", self.parsers[-1], PACKET, QUERY, "query")
        valid = add("valid only", self.checks[-1], QUERY, QUERY, "query")
        domain = add("domain", packets.find_domain(self.suffixes), QUERY, QUERY, "query")
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
        strange = add("no service", packets.no_service(self.known.services), ALERT, ALERT, "alert")
        graph.chain(listed, long, below, different, strange, merge)
        rates = add("rates", packets.emit_rates(), [ALERT] * 3, ALERT, "alert")
        made = (
            ("clients", packets.busy_clients),
            ("domains", packets.asked_domains),
            ("codes", packets.answer_codes),
        )
        for port, (what, counter) in enumerate(made):
            graph.chain(listed, add(what, counter(way), QUERY, ALERT, "query"), rates.input(port))
        graph.connect(rates, merge)
        return head

    def counts(self) -> dict[str, int]:
        """Return the number of packets read, of those of another kind, of unreadable, late and
        early ones, of those of each link type that is not read, and of results.
        """
        links = {
            f"link type {LINK_TYPES.get(link, link)}": number
            for link, number in self.capture.unknown_links.items()
        }
        return {
            "records": sum(source.counted(0) + source.counted(2) for source in self.sources),
            "others": sum(source.counted(1) for source in self.sources)
            + sum(parser.counted(0) for parser in self.parsers),
            "broken": sum(source.counted(2) for source in self.sources)
            + sum(parser.counted(1) for parser in self.parsers),
            **links,
            "late": sum(source.counted(3) for source in self.sources),
            "ahead of time": sum(source.counted(4) for source in self.sources),
            "truncated": truncated_inputs(self.steps[0]),
            "invalid": sum(check.counted(0) for check in self.checks),
            "blocked": sum(listed.counted(0) for listed in self.lists),
            "bytes": sum(meter.counted(1) for meter in self.meters),
            "reports": self.sink.counted(0),
        }

    def results(self) -> list[dict[str, object]]:
        """Return the reports that the sink has kept, in the order of arrival."""
        return kept(self.sink, REPORT)
