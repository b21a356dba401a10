"""Server-sent events over HTTP (WHATWG HTML, section 9.2): a record for each event. The source is a
client, the sink a server.

When a connection ends, the source connects again after the time that the server gave (`retry`), and
longer after each failure. It waits as well where the server asks it to (429, 503). It sends the
number of its last event (`Last-Event-ID`). It ends if the
server answers that there are no more events (204). A first connection that fails ends the run.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from harness.connectors.json_text import to_json
from harness.connectors.published import Published
from harness.connectors.received import MOST_RECORD, ReceivedFrom, in_words
from harness.errors import RunFailed
from harness.graph.schema import Schema

CONNECT_S = 5.0
SILENCE_S = 60.0  # after which a connection counts as lost: servers send comments more often
RETRY_S, MOST_RETRY_S = 1.0, 30.0
MOST_RETRIES = 10  # in a row without an event
MOST_REDIRECTS = 5
READ_BYTES = 2**16  # bytes read at a time
ASKED_TO_WAIT = (408, 425, 429, 503)  # answers of a server that is to be asked again
KEPT_EVENTS = 1024  # events that the sink keeps for clients that reconnect
EVENT_STREAM = "text/event-stream"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "of no known meaning"


class EventReader:
    """Parser that cuts a stream into events; keeps the last event's name and the delay of a new
    connection.
    """

    def __init__(self) -> None:
        self.last_id = ""
        self.retry_s = RETRY_S
        self.begin()

    def begin(self) -> None:
        """Begin a new connection: drop the incomplete event of the last one."""
        self._begun = b""
        self._data = []
        self._size = 0
        self._ended_with_return = False
        self._id = self.last_id
        self._first = True

    def cut(self, piece: bytes) -> Iterator[bytes]:
        """Yield the data of the events that end in this piece. Lines end with a return, a newline,
        or both.
        """
        if self._first:
            piece, self._first = piece.removeprefix(b"\xef\xbb\xbf"), False
        if self._ended_with_return:
            piece = piece.removeprefix(b"\n")
        self._ended_with_return = piece.endswith(b"\r")
        *lines, self._begun = (
            self._begun + piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        ).split(b"\n")
        for line in lines:
            if line:
                self._take(line)
                continue
            self.last_id = self._id
            if self._data:
                yield b"\n".join(self._data) if self._size <= MOST_RECORD else b""
            self._data, self._size = [], 0
        # only the field's name matters in a line that is too long
        if len(self._begun) > MOST_RECORD:
            self._size = MOST_RECORD + 1
            self._begun = self._begun[:MOST_RECORD]

    def _take(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._size += len(value) + 1
            if self._size <= MOST_RECORD:
                self._data.append(value)
            else:
                self._data = [b""]
        elif field == b"id" and b"\0" not in value:
            self._id = value.decode(errors="replace")
        elif field == b"retry" and value.isdigit() and len(value) <= 9:
            self.retry_s = min(int(value) / 1000, MOST_RETRY_S)


class EventSource(ReceivedFrom):
    """The events of a stream at `url`."""

    SCHEMES = ("http://", "https://")

    connections = 0  # so far
    _asked_to_wait = False
    _response: Any = None  # while there is one

    def counts(self) -> dict[str, int]:
        """Return counts of records, and of the source's reconnections."""
        return super().counts() | {"reconnections": max(0, self.connections - 1)}

    def records(self) -> Iterator[bytes]:
        import urllib3

        pool = urllib3.PoolManager(
            timeout=urllib3.Timeout(connect=CONNECT_S, read=SILENCE_S),
            retries=urllib3.Retry(None, connect=0, read=0, other=0, redirect=MOST_REDIRECTS),
        )
        reader, failed = EventReader(), 0
        while not self.stopping.is_set():
            headers = {
                "Accept": EVENT_STREAM,
                "Cache-Control": "no-cache",
                "User-Agent": "millrace",
            }
            if reader.last_id:
                headers["Last-Event-ID"] = reader.last_id
            reader.begin()
            problem = "the server has closed the connection"
            try:
                with pool.request(
                    "GET", self.url, headers=headers, preload_content=False
                ) as self._response:
                    if self._is_over(self._response):
                        return
                    self.connections += 1
                    while piece := self._response.read1(READ_BYTES):
                        for event in reader.cut(piece):
                            failed = 0
                            yield event
                        if self.stopping.is_set():
                            return
            except (urllib3.exceptions.HTTPError, OSError) as error:
                problem = in_words(error)
            failed += 1
            refused = self.connections == 0 and not self._asked_to_wait
            if refused or failed > MOST_RETRIES:
                raise RunFailed(f"{self.url}: {problem}")
            self.stopping.wait(min(reader.retry_s * 2 ** (failed - 1), MOST_RETRY_S))

    def interrupt(self) -> None:
        response = self._response
        if response is not None:
            try:
                response.shutdown()
            except (OSError, ValueError, RuntimeError):
                return  # it has already ended

    def _is_over(self, response: Any) -> bool:
        """Return True if the server says that there are no more events. Raises RunFailed for an
        answer that is no stream of events.
        """
        if response.status == 204:
            return True
        answer = f"the server answered {response.status} ({_phrase(response.status)})"
        if response.status in ASKED_TO_WAIT or (response.status >= 500 and self.connections > 0):
            after = response.headers.get("Retry-After", "")
            if after.isdigit() and len(after) < 10:
                self.stopping.wait(min(int(after), MOST_RETRY_S))
            self._asked_to_wait = response.status in ASKED_TO_WAIT
            raise OSError(answer)
        if response.status != 200:
            raise RunFailed(f"{self.url}: must be a stream of events; {answer}")
        kind = response.headers.get("Content-Type", "")
        if kind.partition(";")[0].strip().lower() != EVENT_STREAM:
            raise RunFailed(
                f"{self.url}: must be a stream of events ({EVENT_STREAM}), not "
                f"{kind[:60] or 'without a type'}"
            )
        return False


class EventSink(Published[tuple[int, str]]):
    """Sink that serves tuples as events at every path of `port` (0: any free port; `address` has
    it).

    A client that reconnects with the number of its last event gets the ones after it, if they are
    among the last KEPT_EVENTS.
    """

    def __init__(self, port: int, schema: Schema, host: str = "127.0.0.1") -> None:
        super().__init__(lambda values: (self.published, to_json(schema, values)), KEPT_EVENTS)
        self.address = (host, port)
        self._server: ThreadingHTTPServer | None = None

    def open(self) -> None:
        """Begin to serve. Raises RunFailed if the system refuses, for example for an address in
        use.
        """
        sink = self

        class Handler(BaseHTTPRequestHandler):
            timeout = CONNECT_S

            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", EVENT_STREAM)
                self.send_header("Cache-Control", "no-cache")
                self.end_headers()
                last = self.headers.get("Last-Event-ID", "")
                seen = int(last) if last.isascii() and last.isdigit() and len(last) < 20 else 0
                try:
                    with sink.subscribed(lambda piece: piece[0] > seen) as pieces:
                        self.wfile.write(b": begins\n\n")
                        for at_hand in pieces:
                            events = "".join(
                                f"id: {number}\ndata: {text}\n\n" for number, text in at_hand
                            )
                            self.wfile.write(events.encode())
                except OSError:
                    return

            def log_message(self, *_: Any) -> None:
                return

        try:
            self._server = ThreadingHTTPServer(self.address, Handler)
        except OSError as problem:
            raise RunFailed(
                f"http://{self.address[0]}:{self.address[1]}: {in_words(problem)}"
            ) from None
        self._server.daemon_threads, self._server.block_on_close = True, False
        self.address = self._server.server_address[:2]
        threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="serves", daemon=True
        ).start()

    def close(self) -> None:
        """Send the waiting tuples, and stop serving."""
        super().close()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
