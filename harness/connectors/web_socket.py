"""Web sockets (RFC 6455): a record for each line of a message. The source connects; the sink
serves, and may serve a page as well.

The sink gathers the tuples of PACE_S in one message: browsers are slow with many small ones.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any

from harness.connectors.json_text import to_json
from harness.connectors.published import Published
from harness.connectors.received import MOST_RECORD, ReceivedFrom, in_words
from harness.errors import RunFailed
from harness.graph.schema import Schema

CONNECT_S = 5.0
ENDING_S = 1.0  # for the other end to close the connection
PACE_S = 0.1


class WebSocketSource(ReceivedFrom):
    """Source of the messages that come from `url`, until the other end closes."""

    SCHEMES = ("ws://", "wss://")

    _connection: Any = None  # while there is one

    def records(self) -> Iterator[bytes]:
        from websockets.exceptions import ConnectionClosedOK, WebSocketException
        from websockets.sync.client import connect

        try:
            with connect(
                self.url,
                open_timeout=CONNECT_S,
                close_timeout=ENDING_S,
                max_size=MOST_RECORD,
                proxy=None,
            ) as connection:
                self._connection = connection
                while not self.stopping.is_set():
                    message = connection.recv()
                    yield from (
                        message.encode() if isinstance(message, str) else message
                    ).splitlines()
        except ConnectionClosedOK:
            return
        except WebSocketException as problem:
            raise RunFailed(f"{self.url}: {in_words(problem)}") from None

    def interrupt(self) -> None:
        if self._connection is not None:
            self._connection.close()


class WebSocketSink(Published[str]):
    """Sink that serves tuples on `port` (0: any free port; `address` has it), and `page`, HTML, to
    browsers that ask for one.

    A browser gets tuples only for a page of an allowed origin: one of `origins`, such as
    "https://example.org", or this sink's own page on this machine. Programs that name no origin get
    them, too.
    """

    def __init__(
        self,
        port: int,
        schema: Schema,
        host: str = "127.0.0.1",
        page: str = "",
        origins: Sequence[str] = (),
    ) -> None:
        self.origins = tuple(origins)
        super().__init__(lambda values: to_json(schema, values))
        self.address = (host, port)
        self.page = page
        self._server: Any = None

    def open(self) -> None:
        """Begin to serve. Raises RunFailed if the system refuses, for example for an address in
        use.
        """
        import logging

        from websockets.sync.server import serve

        quiet = logging.getLogger("millrace.web_socket")  # a client that leaves early is normal
        quiet.setLevel(logging.CRITICAL)
        host, port = self.address
        try:
            self._server = serve(
                self._serve,
                host,
                port,
                process_request=self._answer,
                open_timeout=CONNECT_S,
                close_timeout=ENDING_S,
                logger=quiet,
            )
        except OSError as problem:
            raise RunFailed(f"ws://{host}:{port}: {in_words(problem)}") from None
        self.address = self._server.socket.getsockname()[:2]
        threading.Thread(target=self._server.serve_forever, name="serves", daemon=True).start()

    def close(self) -> None:
        """Send the waiting tuples, and stop serving."""
        super().close()
        if self._server is not None:
            self._server.shutdown()

    def _answer(self, connection: Any, request: Any) -> Any:
        """Return the page, for requests that do not ask for a web socket, and a refusal to pages of
        an origin that is not allowed.
        """
        if "websocket" in request.headers.get("Upgrade", "").lower():
            origin = request.headers.get("Origin")
            if origin is None or origin in self._allowed():
                return None
            return connection.respond(
                HTTPStatus.FORBIDDEN, "Pages of this origin may not read this stream.\n"
            )
        if not self.page:
            return connection.respond(
                HTTPStatus.NOT_FOUND, "There is no page here, but a web socket.\n"
            )
        response = connection.respond(HTTPStatus.OK, self.page)
        del response.headers["Content-Type"]
        response.headers["Content-Type"] = "text/html; charset=utf-8"
        return response

    def _allowed(self) -> set[str]:
        host, port = self.address
        names = {"127.0.0.1", "localhost", "[::1]", f"[{host}]" if ":" in host else host}
        return {*self.origins, *(f"http://{name}:{port}" for name in names)}

    def _serve(self, connection: Any) -> None:
        from websockets.exceptions import WebSocketException

        with self.subscribed() as pieces:
            try:
                for at_hand in pieces:
                    connection.send("\n".join(at_hand))
                    self.closing.wait(PACE_S)
            except (WebSocketException, OSError):
                return
