"""WikiWordCount counts the words that a plain program counts, under every model, in good input and
in bad.
"""

import gzip
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import ProxyHandler, build_opener, urlopen

import pytest
from harness.applications.wiki import sizes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import topologies
from harness.applications.wiki_word_count import (
    PAGE,
    SCHEMAS,
    SECOND,
    WikiWordCount,
    generate,
    input_of,
)
from harness.engine import open_engine
from harness.errors import UserError
from harness.models import Dynamic, Manual
from tests.applications.drive import MODELS, run
from tests.applications.reference_wiki_word_count import reference


def change(timestamp=1_700_000_000, title="A page", comment="what was done", **more):
    return json.dumps(
        {"timestamp": timestamp, "title": title, "comment": comment, **more}, ensure_ascii=False
    ).encode()


BROKEN = (
    b"",
    b"no JSON",
    b"[1]",
    b"{}",
    change()[:-1],
    change() + b"x",
    change(title=None),
    change(comment=["a"]),
    change(timestamp=True),
    change(timestamp=1.5),
    change(timestamp=-1),
    change(timestamp=2**33),
    change(title="x").replace(b"x", b"\xff"),
    change(meta=float("nan")),
    b'{"timestamp":1,"title":"a","comment":"b","deep":' + b"[" * 64 + b"]" * 64 + b"}",
)
ODD = (
    change(timestamp=1_600_000_000, comment="of the past"),
    change(comment="long " + "y" * 60 + " " + "z" * 56 + "  two blanks "),
    change(comment=None),
    change(meta="x" * 9000, comment="京" * 500),  # a long one
    change(comment='quotes " and \\ and é and 🙂'),
    json.dumps(
        {"timestamp": 1_700_000_003, "title": "🙂 é", "comment": "\ud800 half\ttab\n"}
    ).encode(),
    b' { "tit\\u006ce" : "by escape" , "comment" : "" , "title" : "last \\u0041 counts" , '
    b'"timestamp" : 1700000005 } ',
    change(
        meta={"timestamp": 5, "title": {"title": []}}, more=[[], {}, [{"a": [1, -0.5e3, None]}]]
    ),
)


def with_odd_lines(text, seed):
    draw = random.Random(seed)
    lines = text.split(b"\n")[:-1]
    for line in (*BROKEN, *ODD):
        lines.insert(draw.randrange(len(lines)), line)
    return b"\n".join(lines)


def published(built):
    """Return what was published, in any order; the windows of each word must come in order."""
    found = built.results()
    last = {}
    for each in found:
        assert each["time"] % SECOND == 0 and last.get(each["word"], -1) < each["time"]
        last[each["word"]] = each["time"]
    return Counter((each["time"] // SECOND, each["word"], each["count"]) for each in found)


def check(built, expected):
    assert published(built) == expected


def test_tuples_in_c_are_as_large_as_their_schemas():
    assert {schema.name: schema.size for schema in SCHEMAS} == sizes()


def test_the_graph_has_the_papers_operators():
    for placement, ports in (("none", 0), ("hand", 16)):
        graph, _ = topologies.build("wiki-word-count", {"records": 10, "placement": placement}, 0)
        graph.check()
        names = Counter(name.rstrip("0123456789") for name in graph.operators)
        assert names == {"changes": 1, "tokenise": 5, "count": 10, "published": 1}
        assert len(graph.operators) == 17 and len(graph.threaded) == ports


@cache
def many_changes():
    """Changes, and what the plain program counts in them."""
    text = with_odd_lines(generate(300, 3), 5)
    return text, reference(text)


@pytest.mark.heavy
@pytest.mark.parametrize("model", MODELS)
def test_the_result_is_that_of_a_plain_program(model):
    text, expected = many_changes()
    built = WikiWordCount(text, False, 1, False, keep=10**7)
    totals = run(built, MODELS[model]())
    assert totals.correct and totals.drained, (totals.error, totals.conservation)
    assert len(expected) > 10_000
    assert published(built) == expected
    counts = built.counts()
    assert counts["records"] == 300 + len(BROKEN) + len(ODD) and counts["broken"] == len(BROKEN)
    assert counts["long words"] == 2 and counts["published"] == expected.total()


PIECE = st.sampled_from(
    ['{', '}', '[', ']', ',', ':', '"', '\\', '\\u00e9', '\\ud83d', '\\ude42', '\\n', "\t", " ", "a", "é", "0", "1", "-1", ".5",
     "e+2", "true", "null", "NaN", '"timestamp":7', '"title":"a b"', '"comment":"c"', '"timestamp"', '"title"']
)  # fmt: skip
VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 10)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
EVENT = st.dictionaries(
    st.sampled_from(["timestamp", "title", "comment", "meta", "été"]),
    VALUE | st.integers(0, 99),
    max_size=5,
)
TEXT = st.text(max_size=8)
TEXT_EVENT = st.fixed_dictionaries(
    {"timestamp": st.integers(0, 200), "title": TEXT, "comment": TEXT}
)
LINE = (
    st.tuples(EVENT | TEXT_EVENT, st.booleans()).map(
        lambda each: json.dumps(each[0], ensure_ascii=each[1])
    )
    | st.lists(PIECE, max_size=14).map("".join)
    | st.lists(PIECE, max_size=6).map(
        lambda pieces: '{"timestamp":7,"title":"a b","comment":"' + "".join(pieces) + '"}'
    )
)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(LINE.map(lambda line: line.encode(errors="surrogatepass")), max_size=12))
def test_lines_of_any_json_are_read_as_the_plain_program_reads_them(lines):
    text = b"\n".join([*lines, change(timestamp=50)])
    built = WikiWordCount(text, False, 1, False, keep=10**7)
    assert run(built, Manual()).correct
    assert published(built) == reference(text)


def test_a_word_is_counted_for_sixty_seconds():
    text = b"\n".join(
        [change(100, "a b", "a"), change(130, "a", ""), change(10_000, "far", "away")]
    )
    built = WikiWordCount(text, False, 1, False, keep=10**4)
    assert run(built, Manual()).correct
    a = {each["time"] // SECOND: each["count"] for each in built.results() if each["word"] == "a"}
    assert a == {end: 2 if end <= 130 else 3 if end <= 160 else 1 for end in range(101, 191)}
    assert [each["time"] // SECOND for each in built.results() if each["word"] == "far"] == list(
        range(10_001, 10_061)
    )


@pytest.mark.parametrize("place", [0, 50])
@pytest.mark.parametrize("wrong", [4_102_444_800, 1_000_000_000])
def test_one_change_with_a_wrong_clock_moves_no_other(place, wrong):
    lines = generate(100, 8).split(b"\n")[:-1]
    wanted = reference(b"\n".join(lines))
    line = change(wrong, "from", "elsewhere")
    # one for each tokeniser, so that all others go where they went
    text = b"\n".join([*lines[:place], *[line] * 5, *lines[place:]])
    built = WikiWordCount(text, False, 1, False, keep=10**7)
    assert run(built, Manual()).correct
    check(built, reference(text))
    near = Counter(
        {each: n for each, n in published(built).items() if each[1] not in line.decode()}
    )
    assert near == Counter({each: n for each, n in wanted.items() if each[1] not in line.decode()})
    kind = "ahead of time" if wrong > 1_700_000_000 else "late"
    assert built.counts()[kind] == (0 if kind == "late" and place == 0 else 5)


def test_the_input_is_gone_through_again_with_times_that_go_on():
    text = b"\n".join([change(100, "a", ""), change(109, "b", "")])
    built = WikiWordCount(text, False, 2, False, keep=10**4)
    assert run(built, Manual()).correct and built.counts()["records"] == 4
    again = [change(100, "a", ""), change(109, "b", ""), change(110, "a", ""), change(119, "b", "")]
    assert published(built) == reference(b"\n".join(again))


def test_a_packed_file_and_a_cut_one_are_read(tmp_path):
    text = generate(500, 4)
    for name, data in (("whole.gz", gzip.compress(text)), ("cut.gz", gzip.compress(text)[:-900])):
        (tmp_path / name).write_bytes(data)
        found, cut = input_of(1, 0, str(tmp_path / name))
        assert text.startswith(found) and cut == (found != text) == (name == "cut.gz")
    built = WikiWordCount(found, cut, 1, False, keep=10**7)
    assert run(built, Manual()).correct and built.counts()["truncated"] == 1
    assert published(built) == reference(found)


@pytest.mark.parametrize("content", [b"", b"\x00\xff" * 999, b"a,b,c\n" * 9, b'{"a": 1}\n' * 9])
def test_a_file_of_another_kind_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(UserError) as refused:
        topologies.build("wiki-word-count", {"input": str(path)}, 0)
    rule = (
        "must be recent changes, a line of JSON each (timestamp, title, comment); none of its "
        "first MiB is one"
    )
    assert str(refused.value) == f"{path}: {rule}"


def test_generated_changes_are_like_those_of_the_real_stream():
    text = generate(5000, 9)
    assert text == generate(5000, 9) != generate(5000, 10)
    events = [json.loads(line) for line in text.split(b"\n")[:-1]]
    assert len(events) == 5000 and 800 <= len(text) / len(events) <= 1000
    wikis = Counter(event["wiki"] for event in events).most_common(2)
    assert all(0.1 <= count / len(events) <= 0.21 for _, count in wikis)
    words = Counter(word for event in events for word in event["comment"].split(" "))
    often = [count for _, count in words.most_common(100)]
    assert often[0] / often[9] == pytest.approx(10, rel=0.4) and often[0] / often[
        99
    ] == pytest.approx(100, rel=0.5)


@contextmanager
def served(text, cut_at):
    """A server of events, one a line, that ends the first connection after `cut_at` of them."""
    lines = text.split(b"\n")[:-1]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            last = self.headers.get("Last-Event-ID")
            begin = 0 if last is None else int(last) + 1
            self.send_response(200 if begin < len(lines) else 204)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for number in range(begin, cut_at if begin == 0 else len(lines)):
                self.wfile.write(
                    b"event: message\nid: %d\nretry: 1\ndata: %s\n\n" % (number, lines[number])
                )

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v2/stream/recentchange"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.heavy
@pytest.mark.parametrize("model", ["manual", "dynamic", "coroutine"])
def test_a_stream_of_events_gives_what_a_file_gives(model):
    text = with_odd_lines(generate(200, 6), 6)
    text = (
        b"\n".join(line for line in text.split(b"\n") if line.strip()) + b"\n"
    )  # an event without data is none
    with served(text, 70) as url:
        built = WikiWordCount.live(url, False, None, keep=10**7)
        totals = run(built, MODELS[model]())
    assert totals.correct and totals.drained, totals.error
    assert published(built) == reference(text)
    counts = built.counts()
    assert (
        counts["records"] == 200 + len(BROKEN) + len(ODD) - 1
        and counts["broken"] == len(BROKEN) - 1
    )
    assert counts["reconnections"] == 1


@pytest.mark.heavy
def test_standard_input_is_read_as_a_stream():
    text = b"\n".join([change(100, "a b", "a"), b"broken", b""])
    command = [sys.executable, "-m", "harness", "run", "wiki-word-count", "--set", "input=-"]
    done = subprocess.run([*command, "--model", "manual"], input=text, capture_output=True)
    assert (
        b"records 2, broken 1, truncated 0, late 0, ahead of time 0, words 3, long words 0, published 120"
        in done.stdout
    ), done


def test_input_is_one_thing():
    given = {"url": "http://localhost/", "input": "-"}
    with pytest.raises(
        UserError, match=r"^url must be none where input is given \(topology wiki-word-count\)$"
    ):
        topologies.build("wiki-word-count", given, 0)
    with pytest.raises(
        UserError, match=r"^cycles must be endless or once where url is given, not 3 \("
    ):
        topologies.build("wiki-word-count", {"url": "http://localhost/", "cycles": 3}, 0)
    rule = (
        r"^parameter url of topology wiki-word-count must be none or a URL \(http:, https:\), "
        r"not 'ftp://x'$"
    )
    with pytest.raises(UserError, match=rule):
        topologies.build("wiki-word-count", {"url": "ftp://x"}, 0)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@contextmanager
def published_live():
    """A run that publishes for ever; the port, and how it went at the end."""
    built = WikiWordCount(generate(300, 3), False, 0, False, port=free_port())
    engine = open_engine(built.graph, Dynamic(threads=2))
    engine.start()
    try:
        yield built.web.address[1]
    finally:
        totals = engine.stop(drain=False, timeout_s=5)
    assert totals.correct, totals.error


@pytest.mark.heavy
def test_counts_are_published_on_a_web_socket_with_a_page_beside_it():
    from websockets.sync.client import connect

    with published_live() as port:
        with urlopen(f"http://127.0.0.1:{port}/", timeout=60) as page:
            assert (
                page.headers["Content-Type"].startswith("text/html")
                and page.read() == PAGE.read_bytes()
            )
        with connect(f"ws://127.0.0.1:{port}/", proxy=None) as subscriber:
            counts = [json.loads(line) for line in subscriber.recv(timeout=60).split("\n")]
    assert counts and all(
        set(each) == {"time", "count", "word"} and each["count"] > 0 for each in counts
    )


BROWSER = os.environ.get("MILLRACE_BROWSER") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))),
    None,
)


@contextmanager
def page_in_a_browser(url, folder):
    """Return what evaluates an expression in the page, by the DevTools protocol."""
    from websockets.sync.client import connect

    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-proxy-server",
        "--remote-debugging-port=0",
    ]
    browser = subprocess.Popen(
        [BROWSER, *options, f"--user-data-dir={folder}", url], stderr=subprocess.DEVNULL
    )
    try:
        told = folder / "DevToolsActivePort"
        until(lambda: told.exists() and told.read_text().count("\n"))
        at = f"http://127.0.0.1:{told.read_text().split()[0]}/json/list"
        pages = json.load(build_opener(ProxyHandler({})).open(at, timeout=60))
        address = next(each["webSocketDebuggerUrl"] for each in pages if each["type"] == "page")
        with connect(address, proxy=None) as tools:

            def evaluate(expression):
                asked = {
                    "id": 1,
                    "method": "Runtime.evaluate",
                    "params": {"expression": expression, "returnByValue": True},
                }
                tools.send(json.dumps(asked))
                return json.loads(tools.recv(timeout=60))["result"]["result"].get("value")

            yield evaluate
    finally:
        browser.kill()
        browser.wait()


def until(holds):
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come within 60 s")


@pytest.mark.heavy
@pytest.mark.skipif(
    BROWSER is None, reason="no browser is installed, and MILLRACE_BROWSER names none"
)
def test_the_page_shows_the_histogram_in_a_browser(tmp_path):
    with (
        published_live() as port,
        page_in_a_browser(f"http://127.0.0.1:{port}/", tmp_path) as evaluate,
    ):
        until(lambda: evaluate("document.querySelectorAll('.bar').length") == 30)
        assert "the 60 seconds before" in evaluate("document.getElementById('state').textContent")
        longest, *others = evaluate(
            "[...document.querySelectorAll('.bar')].map(bar => bar.getBoundingClientRect().width)"
        )
        assert longest > 100 and all(longest >= other > 0 for other in others)
        middles = (
            "[...cell.children].map(part => part.getBoundingClientRect()).map(box => "
            "(box.top + box.bottom) / 2)"
        )
        apart = evaluate(
            f"[...document.querySelectorAll('td')].map(cell => {middles}).map(([bar, number]) => "
            "bar - number)"
        )
        assert max(map(abs, apart)) < 2  # each number is beside its bar
