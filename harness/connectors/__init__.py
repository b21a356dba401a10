"""Typed sources and sinks at files, standard input and the network: the public names of this
package.

A source is an argument of `Graph.typed_source`, a sink one of `Graph.typed_sink`. A separate thread
waits for the outside, so that no thread of a run ever waits: a source without a tuple returns at
once. docs/how-to/operators.md shows their use.
"""

from harness.connectors.csv_text import CsvLines
from harness.connectors.events import EventSink, EventSource
from harness.connectors.files import FileSink, FileSource, StandardInput
from harness.connectors.tcp import TcpSink, TcpSource
from harness.connectors.ticks import Ticks
from harness.connectors.web_socket import WebSocketSink, WebSocketSource

__all__ = [
    "CsvLines",
    "EventSink",
    "EventSource",
    "FileSink",
    "FileSource",
    "StandardInput",
    "TcpSink",
    "TcpSource",
    "Ticks",
    "WebSocketSink",
    "WebSocketSource",
]
