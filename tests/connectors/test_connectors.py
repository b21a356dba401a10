"""Tuples get in and out over files, TCP, HTTP and web sockets: whole, in order, under every model;
errors are one line.
"""

import gzip
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice, pairwise
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.connectors import (
    EventSink,
    EventSource,
    FileSink,
    FileSource,
    TcpSink,
    TcpSource,
    Ticks,
    WebSocketSink,
    WebSocketSource,
)
from harness.connectors.events import EventReader
from harness.connectors.json_text import from_json, to_json
from harness.connectors.received import Lines
from harness.engine import open_engine
from harness.errors import RunFailed, UserError
from harness.graph import Graph
from harness.graph.schema import Schema
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Multilevel

PAIR = Schema("pair", {"number": "uint32", "text": "string[20]", "raw": "bytes[2]"})
MODELS = {
    "manual": Manual(),
    "dedicated": Dedicated(),
    "dynamic": Dynamic(threads=2),
    "multilevel": Multilevel(),
    "coroutine": Coroutine(threads=2),
}


def pairs(count):
    return [
        {"number": number, "text": f"é {number}", "raw": bytes([number % 256, 7])}
        for number in range(count)
    ]


def engine_of(source, sink, model=None):
    graph = Graph("connected")
    given = graph.typed_source("in", source, PAIR)
    passed = graph.typed("pass", lambda port, values: [(0, values)], PAIR, PAIR)
    graph.connect(given, passed)
    graph.connect(passed, graph.typed_sink("out", sink, PAIR))
    engine = open_engine(graph, model or Dynamic(threads=2))
    engine.start()
    return engine


def to_the_end(engine):
    end = time.monotonic() + 60
    while not engine.finished():
        assert time.monotonic() < end
        engine.sample(0.005)
    totals = engine.stop(drain=True, timeout_s=10)
    assert totals.correct and totals.drained, (totals.error, totals.conservation)
    return totals


def run(source, sink, model=None):
    return to_the_end(engine_of(source, sink, model))


class Kept(list):
    def __call__(self, port, values):
        self.append(values)


def when(holds):
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


class Waiting:
    """A source that sends when somebody has subscribed to its sink."""

    def __init__(self, tuples, sink):
        self.tuples, self.sink = tuples, sink

    def __call__(self):
        while not self.sink.subscribers:
            yield None
        for values in self.tuples:
            yield 0, values


@pytest.mark.heavy
@pytest.mark.parametrize("model", MODELS)
def test_a_file_is_read_and_written_under_every_model(tmp_path, model):
    (tmp_path / "in").write_text("".join(to_json(PAIR, each) + "\n" for each in pairs(3000)))
    source = FileSource(str(tmp_path / "in"), PAIR)
    run(source, FileSink(str(tmp_path / "out"), PAIR), MODELS[model])
    assert (tmp_path / "in").read_bytes() == (tmp_path / "out").read_bytes()
    assert source.counts() == {"records": 3000, "broken": 0}


NETWORK = {
    "tcp": (TcpSink, lambda address, *more: TcpSource(*address, PAIR, *more)),
    "events": (
        EventSink,
        lambda address, *more: EventSource(f"http://{address[0]}:{address[1]}/", PAIR, *more),
    ),
    "web socket": (
        WebSocketSink,
        lambda address, *more: WebSocketSource(f"ws://{address[0]}:{address[1]}", PAIR, *more),
    ),
}


SCHEMES = {"tcp": "tcp", "events": "http", "web socket": "ws"}


@pytest.mark.heavy
@pytest.mark.parametrize("kind", NETWORK)
@pytest.mark.parametrize("model", ["manual", "dynamic", "coroutine"])
def test_what_one_run_publishes_another_gets(kind, model):
    make_sink, make_source = NETWORK[kind]
    sink, kept, sent = make_sink(0, PAIR), Kept(), pairs(2000)
    publishing = engine_of(Waiting(sent, sink), sink, MODELS[model])
    source = make_source(sink.address)
    reading = engine_of(source, kept, MODELS[model])
    to_the_end(publishing)
    if kind == "events":  # its source would come again
        when(lambda: len(kept) == 2000)
        assert reading.stop(drain=False, timeout_s=5).correct
    else:
        to_the_end(reading)
    assert kept == sent
    assert sink.counts() == {"published": 2000, "lost": 0} and source.counts()["records"] == 2000


@pytest.mark.heavy
@pytest.mark.parametrize("model", MODELS)
def test_a_run_whose_source_waits_for_the_network_stops_at_once(model):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        source = TcpSource(*silent.getsockname(), PAIR)
        engine = engine_of(source, Kept(), MODELS[model])
        connection, _ = silent.accept()
        engine.sample(0.02)
        assert engine.stop(drain=False, timeout_s=5).correct
        assert not source._thread.is_alive()
        connection.close()


@contextmanager
def served(answers):
    """A server that gives each answer once, (status, headers, pieces), and what it was asked;
    afterwards it says 204.
    """
    asked, waiting = [], list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.headers.get("Last-Event-ID"))
            status, headers, pieces = waiting.pop(0) if waiting else (204, {}, [])
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            for piece in pieces:
                self.wfile.write(piece)
                self.wfile.flush()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/stream", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


STREAM = {"Content-Type": "text/event-stream; charset=utf-8"}


def event(number, name=None):
    text = to_json(PAIR, {"number": number, "text": "x", "raw": b"ab"}).encode()
    return (b"" if name is None else b"id: " + name + b"\n") + b"data: " + text + b"\n\n"


@pytest.mark.heavy
def test_a_source_of_events_connects_again_and_says_what_it_had_last():
    answers = [
        (302, {"Location": "/elsewhere"}, []),
        (200, STREAM, [b"retry: 1\n\n", event(0, b"a"), event(1, b"b"), b"data: cut o"]),
        (503, {}, []),
        (200, STREAM, [b": comment\r\n", event(2), b"data: no JSON\n\n", event(3, b"c")]),
        (200, STREAM, [event(4)]),
    ]
    kept = Kept()
    with served(answers) as (url, asked):
        source = EventSource(url, PAIR)
        run(source, kept)
    assert [each["number"] for each in kept] == [0, 1, 2, 3, 4]
    assert asked == [None, None, "b", "b", "c", "c"]
    assert source.counts() == {"records": 6, "broken": 1, "reconnections": 2}


def stops_with(source, sink=None):
    """The error of a run, or of its start."""
    try:
        engine = engine_of(source, sink or Kept())
    except RunFailed as problem:
        return str(problem)
    when(engine.finished)
    return engine.stop(drain=True, timeout_s=5).error


def nobody():
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()


@pytest.mark.heavy
@pytest.mark.parametrize("kind", NETWORK)
def test_a_refused_connection_is_one_line(kind):
    address = nobody()
    told = stops_with(NETWORK[kind][1](address))
    assert (
        told.startswith(f"operator 'in': {SCHEMES[kind]}://127.0.0.1:{address[1]}")
        and "Connection refused" in told
    )
    assert "\n" not in told and len(told) < 120


@pytest.mark.heavy
def test_what_is_no_stream_of_events_is_one_line():
    for status, headers, told in (
        (404, STREAM, "the server answered 404 (Not Found)"),
        (200, {"Content-Type": "text/html"}, "(text/event-stream), not text/html"),
        (301, {"Location": "/stream"}, "too many redirects"),
    ):
        with served([(status, headers, [])] * 9) as (url, _):
            assert stops_with(EventSource(url, PAIR)).endswith(told)


@pytest.mark.heavy
def test_what_is_no_web_socket_is_one_line():
    with served([(200, STREAM, [])]) as (url, _):
        told = stops_with(WebSocketSource(url.replace("http", "ws"), PAIR))
    assert told.startswith("operator 'in': ws://127.0.0.1") and "\n" not in told and "200" in told


@pytest.mark.heavy
@pytest.mark.parametrize("kind", NETWORK)
def test_an_address_in_use_is_one_line(kind):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        told = stops_with(lambda: iter(()), NETWORK[kind][0](port, PAIR))
    assert told == f"{SCHEMES[kind]}://127.0.0.1:{port}: Address already in use"


@pytest.mark.heavy
def test_files_that_cannot_be_had_are_one_line(tmp_path):
    assert (
        stops_with(FileSource("/nowhere/in", PAIR))
        == "/nowhere/in: cannot be read: No such file or directory"
    )
    told = stops_with(lambda: iter(()), FileSink(str(tmp_path), PAIR))
    assert told == f"{tmp_path}: cannot be written: Is a directory"
    if Path("/dev/full").exists():
        told = stops_with(lambda: iter([(0, pairs(1)[0])]), FileSink("/dev/full", PAIR))
        assert told == "/dev/full: cannot be written: No space left on device"


READ = Schema("read", {"at": "time", "number": "int32", "text": "string[9]", "load": "float64"})


@pytest.mark.parametrize(
    ("given_text", "read"),
    [
        ('{"at":5,"number":5.0,"text":null,"load":1,"more":[1]}', (5, 5, "", 1)),
        ('{"at":"2024-06-14T15:16:01.5+02:00","number":1,"text":"","load":2.5}', None),
        ('{"at":"2024-06-14T13:16:01.500Z","number":1,"text":"","load":2.5}', None),
        ('{"at":"2024-06-14T13:16:01.5","number":1,"text":"","load":2.5}', None),
    ],
)
def test_records_of_others_are_read(given_text, read):
    read = read or (1_718_370_961_500_000_000, 1, "", 2.5)
    assert from_json(READ, given_text.encode()) == dict(
        zip(("at", "number", "text", "load"), read, strict=True)
    )


@pytest.mark.parametrize(
    "given_text",
    [
        '{"at":"yesterday","number":1,"text":"","load":1}',
        '{"at":1,"number":1.5,"text":"","load":1}',
        '{"at":1,"number":null,"text":"","load":1}',
        '{"at":1,"number":1,"load":1}',
        '{"at":1,"number":1e300,"text":"","load":1}',
    ],
)
def test_records_that_do_not_fit_are_broken(given_text):
    with pytest.raises(ValueError, match=r"number|at|text|fit"):
        from_json(READ, given_text.encode())


def test_a_packed_file_is_read_and_what_is_broken_is_in_the_totals(tmp_path):
    lines = [to_json(PAIR, each) + "\n" for each in pairs(4000)]
    whole = b"".join(
        gzip.compress("".join(lines[n : n + 999]).encode()) for n in range(0, 4000, 999)
    )
    (tmp_path / "in.gz").write_bytes(whole + gzip.compress(b"broken\n"))
    source, kept = FileSource(str(tmp_path / "in.gz"), PAIR), Kept()
    totals = run(source, kept)
    assert list(kept) == pairs(4000) and totals.left_out == {"in: broken": 1}
    (told,) = totals.left_out_examples.values()
    assert told.startswith("record 4001: broken (")


def test_a_packed_file_that_ends_too_early_is_told(tmp_path):
    lines = "".join(to_json(PAIR, each) + "\n" for each in pairs(4000))
    (tmp_path / "in.gz").write_bytes(gzip.compress(lines.encode())[:-500])
    source, kept = FileSource(str(tmp_path / "in.gz"), PAIR), Kept()
    totals = run(source, kept)
    assert 0 < len(kept) < 4000 and list(kept) == pairs(4000)[: len(kept)]
    assert totals.left_out["in: truncated"] == 1 and source.counts()["truncated"] == 1


class Quiet:
    """Stands in for time: each look is 0.1 s later."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        self.now += 0.1
        return self.now


def test_a_clock_ticks_while_a_live_stream_is_idle_and_a_file_has_none(tmp_path, monkeypatch):
    monkeypatch.setattr("harness.connectors.received.time", Quiet())
    live = TcpSource("localhost", 1, PAIR)
    ticks = Ticks(live, idle=1.0)()
    told = [each[1]["idle"] / 1e9 for each in islice(ticks, 40) if each is not None]
    assert told[0] == pytest.approx(1.0, abs=0.11)
    assert all(0.49 < after - before < 0.71 for before, after in pairwise(told)) and len(told) > 3
    live.ended = True
    assert list(ticks) == []
    (tmp_path / "in").write_text("")
    assert list(Ticks(FileSource(str(tmp_path / "in"), PAIR), idle=1.0)()) == []


def test_a_clock_without_a_stream_or_a_time_is_refused():
    with pytest.raises(UserError, match="stream of a clock must be a source of connectors"):
        Ticks([], 1.0)
    with pytest.raises(UserError, match="idle of a clock must be above 0 s, not 0"):
        Ticks(TcpSource("localhost", 1, PAIR), 0)


def test_a_line_is_in_the_file_before_the_next_one_comes(tmp_path):
    sink = FileSink(str(tmp_path / "out"), PAIR)
    sink.open()
    sink(0, pairs(1)[0])
    end = time.monotonic() + 60
    while not (tmp_path / "out").read_bytes() and time.monotonic() < end:
        time.sleep(0.02)
    assert (tmp_path / "out").read_text() == to_json(PAIR, pairs(1)[0]) + "\n"
    sink.close()


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 101),
        ("http://localhost:PORT", 101),
        ("http://127.0.0.1:PORT", 101),
        ("https://mine.example", 101),
        ("https://other.example", 403),
        ("http://localhost:1", 403),
    ],
)
def test_only_pages_of_an_allowed_origin_get_the_tuples(origin, status):
    sink = WebSocketSink(0, PAIR, page="<p>", origins=["https://mine.example"])
    sink.open()
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
    }
    if origin is not None:
        headers["Origin"] = origin.replace("PORT", str(sink.address[1]))
    try:
        browser = HTTPConnection(*sink.address, timeout=60)
        browser.request("GET", "/", headers=headers)
        assert browser.getresponse().status == status
        browser.close()
    finally:
        sink.close()


class Busy(BaseHTTPRequestHandler):
    """Server that asks to wait once, and then has an event and no more."""

    seen: ClassVar[list[str]] = []

    def do_GET(self):
        self.seen.append(self.path)
        if len(self.seen) == 1:
            self.send_response(429)
            self.send_header("Retry-After", "0")
            self.end_headers()
        elif len(self.seen) == 2:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(b"retry: 1\ndata: " + to_json(PAIR, pairs(1)[0]).encode() + b"\n\n")
        else:
            self.send_response(204)
            self.end_headers()

    def log_message(self, *_):
        return


def test_a_server_that_asks_to_wait_is_asked_again(monkeypatch):
    monkeypatch.setattr("harness.connectors.events.RETRY_S", 0.01)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Busy)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    kept = Kept()
    run(EventSource(f"http://127.0.0.1:{server.server_address[1]}/", PAIR), kept)
    assert list(kept) == pairs(1)
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("make", [EventSource, WebSocketSource])
def test_an_address_of_another_kind_is_refused(make):
    with pytest.raises(UserError, match=r"^url must begin with .*, not 'ftp://x'$"):
        make("ftp://x", PAIR)


@pytest.mark.parametrize(
    ("page", "status", "type_"), [("<p>é", 200, "text/html; charset=utf-8"), ("", 404, None)]
)
def test_a_sink_of_web_sockets_gives_browsers_its_page_and_others_the_tuples(page, status, type_):
    sink = WebSocketSink(0, PAIR, page=page)
    sink.open()
    try:
        browser = HTTPConnection(*sink.address, timeout=60)
        browser.request("GET", "/")
        answer = browser.getresponse()
        assert answer.status == status
        assert answer.read().decode() == (page or "There is no page here, but a web socket.\n")
        assert type_ is None or answer.getheader("Content-Type") == type_
        browser.request("GET", "/", headers={"Connection": "Upgrade", "Upgrade": "WebSocket"})
        assert browser.getresponse().status == 400, (
            "an upgrade without its key is refused, with a page or without"
        )
    finally:
        sink.close()


@pytest.mark.heavy
def test_standard_input_is_read_until_it_ends():
    program = "\n".join(
        (
            "from tests.connectors.test_connectors import PAIR, Kept, run",
            "from harness.connectors import StandardInput",
            "source, kept = StandardInput(PAIR), Kept()",
            "run(source, kept)",
            "print([each['number'] for each in kept], source.counts())",
        )
    )
    lines = "".join(to_json(PAIR, each) + "\n" for each in pairs(3)) + "[]\nbroken"
    done = subprocess.run(
        [sys.executable, "-c", program], input=lines.encode(), capture_output=True
    )
    assert done.stdout == b"[0, 1, 2] {'records': 5, 'broken': 2}\n", done.stderr


@pytest.mark.heavy
def test_a_slow_subscriber_holds_up_nobody_and_what_it_loses_is_counted(monkeypatch):
    monkeypatch.setattr("harness.connectors.published.MOST_WAITING", 100)
    sink = TcpSink(0, PAIR)
    sink.open()
    with sink.subscribed() as pieces:
        for each in pairs(250):
            sink(0, each)
        assert [from_json(PAIR, piece)["number"] for piece in next(pieces)] == list(range(150, 250))
    assert sink.counts() == {"published": 250, "lost": 150}
    sink.close()


@given(st.lists(st.binary(max_size=8)), st.integers(1, 5))
def test_lines_are_whole_wherever_the_pieces_are_cut(given_lines, size):
    text = b"\n".join(given_lines)
    cutter = Lines()
    found = [line for at in range(0, len(text), size) for line in cutter.cut(text[at : at + size])]
    found += cutter.rest()
    expected = [line.removesuffix(b"\r") for line in text.split(b"\n")]
    expected[-1] = text.split(b"\n")[-1]
    assert found == (expected if expected[-1] else expected[:-1])


FIELDS = (
    b"data: a",
    b"data:b",
    b"data",
    b"data:  c",
    b"id: 7",
    b"id",
    b": x",
    b"event: y",
    b"retry: 20",
    b"other",
    b"",
)
FIELD = st.sampled_from(FIELDS)


@given(st.lists(FIELD, max_size=12), st.sampled_from([b"\n", b"\r", b"\r\n"]), st.integers(1, 9))
def test_events_are_the_same_wherever_the_pieces_are_cut(lines, end, size):
    text = end.join([*lines, b"", b""])
    expected, data, name, last = [], [], "", ""
    for line in [*lines, b""]:  # the standard's steps, line by line
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            last = name
            expected += [b"\n".join(data)] if data else []
            data = []
        elif field == b"data":
            data.append(value)
        elif field == b"id":
            name = value.decode()
    reader = EventReader()
    assert [
        each for at in range(0, len(text), size) for each in reader.cut(text[at : at + size])
    ] == expected
    assert reader.last_id == last and reader.retry_s == (0.02 if b"retry: 20" in lines else 1.0)
