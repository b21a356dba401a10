"""PacketAnalysis reports what a plain program reports, under every model, in good captures and in
bad.
"""

import gzip
import random
import struct
from functools import cache

import pytest
from harness.applications.packets import Capture, sizes
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import topologies
from harness.applications.packet_analysis import (
    CLIENT,
    DGA,
    DOMAIN,
    FAILED,
    ON_LIST,
    SCHEMAS,
    TUNNEL,
    PacketAnalysis,
    generate,
    input_of,
)
from harness.errors import UserError
from harness.models import Dynamic, Manual
from tests.applications.drive import MODELS, in_any_order, run
from tests.applications.reference_packet_analysis import packets_of, reference

HEADER = 24  # bytes of a pcap file


def records_of(capture):
    """The records of a generated capture."""
    found, place = [], HEADER
    while place < len(capture):
        (size,) = struct.unpack("<I", capture[place + 8 : place + 12])
        found.append(capture[place : place + 16 + size])
        place += 16 + size
    return found


def record(frame, time=1_700_000_001.0, wire=None):
    return (
        struct.pack("<IIII", int(time), int(time % 1 * 10**6), len(frame), wire or len(frame))
        + frame
    )


def frame(message, port=53, protocol=17, fragment=0, before=b"", link=b"\x08\0"):
    udp = struct.pack(">HHHH", 40000, port, 8 + len(message), 0)
    header = struct.pack(
        ">BBHHHBBH4s4s",
        0x45,
        0,
        28 + len(message),
        0,
        fragment,
        64,
        protocol,
        0,
        bytes(4),
        b"\x0a\0\0\x35",
    )
    return bytes(12) + before + link + header + udp + message


def frame6(message):
    header = (
        struct.pack(">IHBB", 6 << 28, 8 + len(message), 17, 64)
        + bytes(15)
        + b"\1"
        + bytes(15)
        + b"\2"
    )
    return (
        bytes(12)
        + b"\x86\xdd"
        + header
        + struct.pack(">HHHH", 40000, 53, 8 + len(message), 0)
        + message
    )


def message(labels, flags=0x0100, questions=1, kind=1, network=1):
    name = b"".join(bytes((len(label),)) + label for label in labels) + b"\0"
    return (
        struct.pack(">6H", 7, flags, questions, 0, 0, 0) + name + struct.pack(">HH", kind, network)
    )


PLAIN = message([b"www", b"example", b"org"])
ODD = [  # a frame, and what it counts as
    (b"", "others"),
    (b"\xff" * 13, "others"),
    (bytes(12) + b"\x08\x06" + bytes(40), "others"),
    (frame(PLAIN, port=80), "others"),
    (frame(PLAIN, protocol=6), "others"),
    (frame(PLAIN, fragment=3), "others"),
    (frame(PLAIN)[:50], "broken"),
    (frame(PLAIN[:-1]), "broken"),
    (frame(PLAIN[:12] + b"\xc0\x0c" + PLAIN[-4:]), "broken"),
    (frame(message([b"x" * 60] * 5)), "broken"),
    (frame(message([])), "invalid"),
    (frame(message([b"a", b"org"], questions=2)), "invalid"),
    (frame(message([b"a", b"org"], network=3)), "invalid"),
    (frame(message([b"a", b"org"], flags=0x1000)), "invalid"),
    (frame(message([], flags=0x8181, questions=0)[:12]), "invalid"),  # FORMERR without a question
    (frame(message([], flags=0x8000, questions=0)[:12] + b"\xc0\x0c" + bytes(9)), "invalid"),
    (
        frame(message([b"Odd.\xff", b"Example", b"Co", b"UK"], kind=16), before=b"\x81\0\0\x05"),
        "fine",
    ),
    (frame(message([b"y" * 63, b"z" * 63, b"q" * 63, b"w" * 50])), "fine"),
    (
        frame6(message([b"y" * 63, b"z" * 63, b"q" * 63, b"w" * 61])),
        "fine",
    ),  # the longest name that there is
]


def with_odd_packets(capture, seed):
    draw, records = random.Random(seed), records_of(capture)
    for odd, _ in ODD:
        place = draw.randrange(len(records))
        records.insert(place, records[place][:8] + record(odd)[8:])
    return capture[:HEADER] + b"".join(records)


def check(built, expected):
    assert in_any_order(built.results()) == in_any_order(expected)


def test_tuples_in_c_are_as_large_as_their_schemas():
    assert {schema.name: schema.size for schema in SCHEMAS} == sizes()


@pytest.mark.parametrize(("sources", "operators", "by_hand"), [(1, 387, 17), (8, 2305, 129)])
def test_the_graph_has_the_papers_operators_and_threaded_ports(sources, operators, by_hand):
    for placement, ports in (("none", 0), ("hand", by_hand)):
        given = {"sources": sources, "records": 10, "placement": placement}
        graph, _ = topologies.build("packet-analysis", given, 0)
        graph.check()
        assert len(graph.operators) == operators and len(graph.threaded) == ports


@cache
def many_packets():
    """A capture, and what the plain program reports of it."""
    capture = with_odd_packets(generate(4000, 3), 5)
    return capture, reference(capture, 1)


@pytest.mark.heavy
@pytest.mark.parametrize("model", MODELS)
def test_the_result_is_that_of_a_plain_program(model):
    capture, expected = many_packets()
    built = PacketAnalysis(capture, False, 1, 1, False, keep=10**6)
    totals = run(built, MODELS[model]())
    assert totals.correct and totals.drained, (totals.error, totals.conservation)
    assert {report["kind"] for report in expected} >= {DGA, TUNNEL, CLIENT, DOMAIN, FAILED}
    check(built, expected)
    counts = built.counts()
    assert counts["records"] == 4000 + len(ODD)
    for what in ("others", "broken", "invalid"):
        assert counts[what] == sum(kind == what for _, kind in ODD)


def test_what_is_planted_is_found():
    expected = reference(generate(20_000, 11), 1)
    texts = [report["text"] for report in expected]
    assert {report["kind"] for report in expected} == {DGA, TUNNEL, CLIENT, DOMAIN, FAILED, ON_LIST}
    accused = {
        text.split()[0]
        for text, report in zip(texts, expected, strict=True)
        if report["kind"] == DGA
    }
    assert len(accused) == 3  # the clients that ask for made-up names, and nobody else
    assert {text.split(":")[0] for text in texts if " carry " in text} == {
        "t0.example",
        "t1.example",
    }


# -- files -----------------------------------------------------------------------------------------


def pcapng(records, order, resolution, *, simple=False, version=b""):
    def block(kind, body):
        body += bytes(-len(body) % 4)
        return (
            struct.pack(f"{order}II", kind, len(body) + 12)
            + body
            + struct.pack(f"{order}I", len(body) + 12)
        )

    options = struct.pack(f"{order}HHB3xHHq", 9, 1, resolution, 14, 8, 1000) + version
    out = [block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))]
    out += [
        block(1, struct.pack(f"{order}HHI", 1, 0, 0) + options),
        block(5, bytes(12)),
        block(0xBAD, b"of whom?"),
    ]
    for each in records:
        seconds, part, size, wire = struct.unpack("<IIII", each[:16])
        per_second = 2 ** (resolution & 127) if resolution & 128 else 10**resolution
        ticks = (seconds - 1000) * per_second + part * per_second // 10**6
        head = struct.pack(f"{order}IIIII", 0, ticks >> 32, ticks % 2**32, size, wire)
        out.append(
            block(3, struct.pack(f"{order}I", wire) + each[16:])
            if simple
            else block(6, head + each[16:])
        )
    return b"".join(out)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("resolution", [6, 9, 128 + 20])
def test_a_pcapng_file_is_read_as_the_pcap_file_is(order, resolution):
    capture = generate(1500, 2)
    written = pcapng(records_of(capture), order, resolution)
    built = PacketAnalysis(written, False, 1, 1, False, keep=10**6)
    assert run(built, Manual()).correct and built.counts()["records"] == 1500
    check(built, reference(written, 1))
    assert [ip for _, ip in packets_of(written)] == [ip for _, ip in packets_of(capture)]
    assert resolution == 148 or packets_of(written) == packets_of(capture)


def test_packets_without_times_and_several_sections_are_read():
    records = records_of(generate(600, 2))
    written = pcapng(records[:300], "<", 6) + pcapng(records[300:], ">", 6, simple=True)
    built = PacketAnalysis(written, False, 1, 1, False, keep=10**6)
    assert (
        run(built, Manual()).correct
        and built.counts()["records"] == 600
        and len(packets_of(written)) == 600
    )
    check(built, reference(written, 1))


def test_the_other_byte_order_and_nanoseconds_are_read():
    records = records_of(generate(500, 2))
    for order, magic, unit in (
        (">", 0xA1B2C3D4, 1),
        ("<", 0xA1B23C4D, 1000),
        (">", 0xA1B23C4D, 1000),
    ):
        out = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65535, 1)]
        for each in records:
            seconds, part, size, wire = struct.unpack("<IIII", each[:16])
            out.append(struct.pack(f"{order}IIII", seconds, part * unit, size, wire) + each[16:])
        written = b"".join(out)
        assert packets_of(written) == packets_of(generate(500, 2))
        built = PacketAnalysis(written, False, 1, 1, False, keep=10**6)
        assert run(built, Manual()).correct
        check(built, reference(written, 1))


def test_broken_records_are_counted_and_the_rest_is_read(tmp_path):
    capture = generate(400, 4)
    records = records_of(capture)
    wrong = (
        struct.pack("<IIII", 1, 10**6, 4, 4) + b"abcd",
        struct.pack("<IIII", 1, 10**6, 0, 0),
        struct.pack("<IIII", 1, 2**31, 4, 3) + b"abcd",
    )
    lost = struct.pack("<IIII", 1, 0, 2**18 + 1, 2**18 + 1)
    for data, broken, truncated, known in (
        (
            capture[:HEADER] + b"".join(records[:200]) + b"".join(wrong) + b"".join(records[200:]),
            3,
            False,
            400,
        ),
        (
            capture[:HEADER] + b"".join(records[:300]) + lost + b"".join(records[300:]),
            1,
            False,
            300,
        ),
        (capture[:-1], 0, True, 399),
        (capture[: -len(records[-1]) + 5], 0, True, 399),
        (pcapng(records, "<", 6)[:-3], 0, True, 399),
        (pcapng(records, "<", 6) + struct.pack("<III", 6, 12, 16), 1, False, 400),
        (pcapng(records, "<", 6) + struct.pack("<III", 6, 12, 12), 1, False, 400),
        (pcapng(records, "<", 6) + struct.pack("<II", 6, 13) + bytes(8), 1, False, 400),
    ):
        path = tmp_path / "capture"
        path.write_bytes(gzip.compress(data))
        found, cut = input_of(1, 0, str(path))
        built = PacketAnalysis(found, cut, 1, 1, False, keep=10**6)
        assert run(built, Manual()).correct
        counts = built.counts()
        assert (counts["broken"], counts["truncated"], counts["records"]) == (
            broken,
            int(truncated),
            known + broken,
        )
        check(built, reference(data, 1))


OTHER = {
    "nothing": (b"", "it begins as neither"),
    "text": (b"no packets\n" * 99, "it begins as neither"),
    "packed text": (gzip.compress(b"no packets\n" * 99), "it begins as neither"),
    "no packet": (generate(1, 1)[:HEADER], "no packet in it can be read"),
    "half a header": (generate(1, 1)[:20], "it begins as neither"),
    "a section that is none": (
        struct.pack("<III", 0x0A0D0D0A, 28, 7) + bytes(16),
        "it begins as neither",
    ),
}


@pytest.mark.parametrize("kind", OTHER)
def test_a_file_of_another_kind_is_refused_in_one_line(tmp_path, kind):
    path = tmp_path / "other"
    path.write_bytes(OTHER[kind][0])
    with pytest.raises(UserError) as refused:
        topologies.build("packet-analysis", {"input": str(path)}, 0)
    assert str(refused.value) == f"{path}: must be packets in pcap or pcapng; {OTHER[kind][1]}"


FEW = generate(60, 5)
BASE = {"pcap": FEW, "pcapng": pcapng(records_of(FEW), ">", 6)}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(sorted(BASE)),
    st.lists(st.tuples(st.integers(24, len(BASE["pcap"]) - 1), st.integers(0, 255)), max_size=30),
    st.integers(0, 400),
)
@example("pcap", [(40, 255)], 0)
def test_a_damaged_capture_is_read_as_the_plain_program_reads_it(kind, damage, cut):
    data = bytearray(BASE[kind])
    for place, byte in damage:
        data[place] = byte
    data = bytes(data[: len(data) - cut])
    built = PacketAnalysis(data, False, 1, 1, False, keep=10**6)
    if not built.capture.known:
        return
    assert run(built, Manual()).correct
    check(built, reference(data, 1))


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([BASE["pcap"][:24], BASE["pcapng"][:60]]), st.binary(max_size=200))
def test_any_bytes_are_a_capture_or_none(head, rest):
    assert len(Capture(head + rest)) <= len(rest)


# -- what packets are in ---------------------------------------------------------------------------


def ip_of(content, protocol=17, version=4, before=b""):
    """A packet of IP; `before`: extension headers of IPv6."""
    if version == 4:
        return (
            struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(content), 0, 0, 64, protocol, 0)
            + b"\x0a\0\0\1\x0a\0\0\x35"
            + content
        )
    kind, behind = (before[0], before[1:]) if before else (protocol, b"")
    return (
        struct.pack(">IHBB", 6 << 28, len(behind) + len(content), kind, 64)
        + bytes(15)
        + b"\1"
        + bytes(15)
        + b"\2"
        + behind
        + content
    )


def udp(message, source=40000, target=53):
    return struct.pack(">HHHH", source, target, 8 + len(message), 0) + message


def tcp(content, sequence, flags=0x18, source=40000, target=53):
    return struct.pack(">HHIIBBHHH", source, target, sequence, 1, 0x50, flags, 99, 0, 0) + content


def prefixed(message):
    return struct.pack(">H", len(message)) + message


def capture_of(frames, link=1, begin=1_700_000_000, more=0):
    """A pcap of a frame a second; `more`: bytes that each has captured beyond its length."""
    out = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)]
    for second, each in enumerate(frames):
        out.append(struct.pack("<IIII", begin + second, 0, len(each), len(each) - more) + each)
    return b"".join(out)


QUESTION = ip_of(udp(PLAIN))
ETHERNET = bytes(12)
FRAGMENT = struct.pack(">BBHI", 17, 0, 1, 7)
WAYS = {
    "802.1ad": (1, ETHERNET + b"\x88\xa8\0\1\x81\0\0\2\x08\0" + QUESTION),
    "PPPoE": (
        1,
        ETHERNET
        + b"\x88\x64\x11\0\0\1"
        + struct.pack(">H", 2 + len(QUESTION))
        + b"\0\x21"
        + QUESTION,
    ),
    "MPLS": (1, ETHERNET + b"\x88\x47\0\1\0\x40\0\2\1\x40" + QUESTION),
    "PPP": (9, b"\xff\x03\0\x21" + QUESTION),
    "PPP with a short protocol": (9, b"\x21" + QUESTION),
    "HDLC": (104, b"\x0f\0\x08\0" + QUESTION),
    "Linux cooked": (113, bytes(14) + b"\x08\0" + QUESTION),
    "Linux cooked 2": (276, b"\x08\0" + bytes(18) + QUESTION),
    "IPv6 options": (101, ip_of(udp(PLAIN), version=6, before=b"\0\x11\0" + bytes(6))),
    "IPv6 authentication": (101, ip_of(udp(PLAIN), version=6, before=b"\x33\x11\4" + bytes(22))),
    "an IPv6 fragment": (101, ip_of(udp(PLAIN), version=6, before=b"\x2c" + FRAGMENT)),
    "from port 53 to port 53": (101, ip_of(udp(PLAIN, source=53))),
    "an answer to port 53": (101, ip_of(udp(message([b"a", b"org"], flags=0x8180)))),
    "TCP": (101, ip_of(tcp(prefixed(PLAIN), 5), protocol=6)),
}


def counted(capture):
    built = PacketAnalysis(capture, False, 1, 1, False, keep=10**6)
    assert run(built, Manual()).correct
    counts = built.counts()
    left = sum(counts[each] for each in ("others", "broken", "invalid", "late"))
    links = sum(number for name, number in counts.items() if name.startswith("link type"))
    return counts | {"readable": counts["records"] - left - links}


@pytest.mark.parametrize("way", WAYS)
def test_messages_are_read_whatever_they_are_in(way):
    link, each = WAYS[way]
    # each in a connection of its own
    frames = [each] if way == "TCP" else [each] * 10
    # after 2038, and with eight bytes more than the packet had
    capture = capture_of([frame + bytes(8) for frame in frames], link, 2**31 + 5, more=8)
    assert counted(capture)["readable"] == len(frames)


def test_only_the_first_fragment_of_a_message_is_read():
    later = struct.pack(">BBHI", 17, 0, 8 << 3, 7)
    frames = [ip_of(udp(PLAIN), version=6, before=b"\x2c" + each) for each in (FRAGMENT, later)]
    counts = counted(capture_of(frames, 101))
    assert (counts["readable"], counts["others"]) == (1, 1)


def test_messages_in_tcp_are_read_however_they_are_cut():
    messages = [message([b"n%d" % n, b"example", b"org"]) for n in range(30)]
    stream = b"".join(map(prefixed, messages))
    for size in (len(stream), 200, 47, 3):
        packets, place = [ip_of(tcp(b"", 99, flags=2), protocol=6)], 0
        while place < len(stream):
            packets.append(ip_of(tcp(stream[place : place + size], 100 + place), protocol=6))
            place += size
        counts = counted(capture_of([*packets, packets[-1]], 101))
        # what is cut before its question ends cannot be read
        assert size < 47 or counts["broken"] + counts["readable"] == 30
        assert size < 200 or counts["readable"] >= 15
    # the length in a segment of its own
    packets, place = [], 7
    for each in messages:
        for content in (struct.pack(">H", len(each)), each):
            packets.append(ip_of(tcp(content, place), protocol=6))
            place += len(content)
    counts = counted(capture_of(packets, 101))
    assert (counts["readable"], counts["broken"], counts["others"]) == (30, 0, 30)


def test_link_types_that_are_not_read_are_told_by_name():
    counts = counted(capture_of([bytes(60)] * 7, 127))
    assert counts["link type IEEE 802.11 with radiotap"] == 7 and counts["others"] == 0


@pytest.mark.parametrize("place", [0, 500])
@pytest.mark.parametrize("off", [365 * 86400, -365 * 86400])
def test_one_packet_with_a_wrong_clock_moves_no_other(place, off):
    records = records_of(generate(1000, 6))
    begin = struct.unpack("<I", records[0][:4])[0]
    wrong = struct.pack("<I", begin + off) + records[0][4:]
    head = generate(1, 1)[:HEADER]
    wanted = reference(head + b"".join(records), 1)
    built = PacketAnalysis(
        head + b"".join([*records[:place], wrong, *records[place:]]), False, 1, 1, False, keep=10**6
    )
    assert run(built, Manual()).correct
    check(built, wanted)
    counts = built.counts()
    # a first packet of long ago is only behind a gap
    assert counts["ahead of time"] == (off > 0)
    assert counts["late"] == (off < 0 and place > 0)


def asked(names, kind=1, clients=1):
    return capture_of(
        [
            ip_of(udp(message([label.encode() for label in name.split(".")], kind=kind)))
            for name in names
        ][: 10**6],
        101,
    )


ORDINARY = {
    "names of addresses": [
        ".".join(f"{n:032x}"[::-1]) + ".ip6.arpa" for n in range(2**127, 2**127 + 60)
    ],
    "block lists": [f"{n}.{n % 7}.0.192.zen.dq.blocklist.example" for n in range(60)],
    "hashes asked of block lists": [f"{n * 7919:040x}._email.hbl.spamhaus.org" for n in range(60)],
    "a cloud": [f"i-{n * 7919:017x}.eu-central-1.compute.amazonaws.com" for n in range(60)],
    "machines of a company": [f"pc-{n:05}.berlin.corp.company.example" for n in range(60)],
}


def fast(capture):
    """Move all packets within three seconds."""
    records = records_of(capture)
    return capture[:HEADER] + b"".join(
        struct.pack("<II", 1_700_000_000 + n // 25, n) + each[8:] for n, each in enumerate(records)
    )


@pytest.mark.parametrize("what", ORDINARY)
def test_ordinary_names_are_no_tunnel(what):
    built = PacketAnalysis(fast(asked(ORDINARY[what])), False, 1, 1, False, keep=100)
    assert run(built, Manual()).correct and built.counts()["invalid"] == 0
    assert not [each for each in built.results() if each["kind"] == TUNNEL]


def test_a_tunnel_has_no_more_names_than_questions():
    draw = random.Random(3)
    for count in (25, 40, 100):
        names = [f"{draw.getrandbits(200):050x}.t.example" for _ in range(count)]
        built = PacketAnalysis(fast(asked(names)), False, 1, 1, False, keep=100)
        assert run(built, Manual()).correct
        (report,) = [each for each in built.results() if each["kind"] == TUNNEL]
        assert int(report["text"].split()[1]) <= report["count"] == count


def test_the_reports_do_not_depend_on_the_number_of_sources():
    capture = generate(6000, 12)
    found = []
    for sources in (1, 8):
        built = PacketAnalysis(capture, False, 1, sources, False, keep=10**6)
        assert run(built, Manual()).correct
        found.append(in_any_order(built.results()))
    assert found[0] == found[1]


# -- the rest --------------------------------------------------------------------------------------


def test_the_input_is_gone_through_again_with_times_that_go_on():
    capture = generate(3000, 1)
    built = PacketAnalysis(capture, False, 12, 2, False, keep=10**6)
    totals = run(built, Dynamic(threads=2))
    assert totals.correct and totals.sent == 36_000 == built.counts()["records"]
    ends = sorted({report["end"] for report in built.results()})
    once = sorted({report["end"] for report in reference(capture, 2)})
    assert (
        ends[0] == once[0]
        and ends == list(range(ends[0], ends[0] + 20 * 10**9 * len(ends), 20 * 10**9))
        and len(ends) > 2
    )


def test_sources_share_the_clients():
    capture = generate(2000, 1)
    built = PacketAnalysis(capture, False, 1, 3, False)
    assert run(built, Dynamic(threads=2)).correct
    shares = [source.counted(0) for source in built.sources]
    assert sum(shares) == 2000 and min(shares) > 0


def test_generated_packets_are_like_those_of_real_captures():
    capture = generate(10_000, 9)
    assert capture == generate(10_000, 9) != generate(10_000, 10)
    records = records_of(capture)
    assert len(records) == 10_000 and 70 <= sum(len(each) - 16 for each in records) / 10_000 <= 236
    ips = [ip for _, ip in packets_of(capture)]
    answers = [
        ip
        for ip in ips
        if (ip[20:22] == b"\0\x35" and ip[0] >> 4 == 4)
        or (ip[40:42] == b"\0\x35" and ip[0] >> 4 == 6)
    ]
    failed = sum((ip[31] if ip[0] >> 4 == 4 else ip[51]) & 15 > 0 for ip in answers)
    assert len(answers) / len(ips) == pytest.approx(0.77 / 1.77, abs=0.02)
    assert 0.13 <= failed / len(answers) <= 0.25
    assert sum(ip[0] >> 4 == 6 for ip in ips) / len(ips) == pytest.approx(0.2, abs=0.2)
