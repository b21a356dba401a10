"""TCP: a record for each line. The source connects and reads; the sink listens, and sends each
tuple to all clients.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

from harness.connectors.json_text import to_json
from harness.connectors.published import Published
from harness.connectors.received import Parse, Received, in_words
from harness.errors import RunFailed
from harness.graph.schema import Schema

CONNECT_S = 5.0
READ_BYTES = 2**16  # bytes read at a time


class TcpSource(Received):
    """Source of the lines that `host` sends on `port`, until it closes the connection."""

    def __init__(
        self, host: str, port: int, schema: Schema, parse: Parse | None = None, outputs: int = 1
    ) -> None:
        super().__init__(schema, parse, outputs)
        self.host, self.port = host, port
        self._socket: socket.socket | None = None

    def __str__(self) -> str:
        return f"tcp://{self.host}:{self.port}"

    def records(self) -> Iterator[bytes]:
        lines = self.lines()
        with socket.create_connection((self.host, self.port), CONNECT_S) as self._socket:
            self._socket.settimeout(None)  # `interrupt` ends the wait
            while not self.stopping.is_set():
                piece = self._socket.recv(READ_BYTES)
                if not piece:
                    break
                yield from lines.cut(piece)
        yield from lines.rest()

    def interrupt(self) -> None:
        shut(self._socket)


class TcpSink(Published):
    """Sink that listens on `port` (0: any free one; `address` has it), and sends tuples as
    lines.
    """

    def __init__(self, port: int, schema: Schema, host: str = "127.0.0.1") -> None:
        super().__init__(lambda values: (to_json(schema, values) + "\n").encode())
        self.address = (host, port)
        self._listener: socket.socket | None = None

    def open(self) -> None:
        """Begin to listen. Raises RunFailed if the system refuses, for example for an address in
        use.
        """
        try:
            self._listener = socket.create_server(self.address)
        except OSError as problem:
            raise RunFailed(
                f"tcp://{self.address[0]}:{self.address[1]}: {in_words(problem)}"
            ) from None
        self.address = self._listener.getsockname()[:2]
        threading.Thread(
            target=self._accept, args=(self._listener,), name="accepts", daemon=True
        ).start()

    def close(self) -> None:
        """Send the waiting tuples, close all connections, and stop listening."""
        shut(self._listener)
        super().close()
        if self._listener is not None:
            self._listener.close()

    def _accept(self, listener: socket.socket) -> None:
        while not self.closing.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(
                target=self._serve, args=(connection,), name="sends", daemon=True
            ).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(CONNECT_S)  # a client that takes nothing for so long is dropped
        with connection, self.subscribed() as pieces:
            try:
                for at_hand in pieces:
                    connection.sendall(b"".join(at_hand))
            except OSError:
                return


def shut(connection: socket.socket | None) -> None:
    """End the wait of another thread at a socket."""
    if connection is not None:
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # it was no longer connected
