"""Typed sources and sinks at files, standard input and the network. This is the room's front door.

A source is what `Graph.typed_source` takes, a sink what `Graph.typed_sink` takes. A thread of their own waits for the outside,
so that no thread of a run ever does: a source that has nothing at hand says so at once. docs/operators.md shows their use.
"""

from harness.connectors.events import EventSink, EventSource
from harness.connectors.files import FileSink, FileSource, StandardInput
from harness.connectors.tcp import TcpSink, TcpSource
from harness.connectors.web_socket import WebSocketSink, WebSocketSource

__all__ = [
    "EventSink",
    "EventSource",
    "FileSink",
    "FileSource",
    "StandardInput",
    "TcpSink",
    "TcpSource",
    "WebSocketSink",
    "WebSocketSource",
]
