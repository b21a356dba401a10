"""Schemas of tuples: named attributes, each of a type, laid out as the C compiler lays out a
struct.

Types: `int8` … `int64`, `uint8` … `uint64`, `float32`, `float64`, `boolean` (a byte), `time`
(nanoseconds since 1970 as an int64), `bytes[N]` (N bytes exactly) and `string[N]` (at most N bytes
of UTF-8: its length as a uint32, and the bytes). A tuple takes what its own schema needs, rounded
up to 8 bytes. Where it has a `string` without a bound, a tuple takes a whole slot, and such strings
share what the other attributes leave of it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from harness.errors import UserError

MAX_CONTENT = 64 * 2**20  # bytes a tuple
MAX_ATTRIBUTES = 1000
ALIGNMENT = 8  # of a tuple's content [bytes]
DEFAULT_SLOT = 1024  # bytes of a tuple that has strings without a bound
UNBOUNDED = "string"

_NUMBERS = {  # by type: format of struct, C type, numpy type
    "int8": ("b", "int8_t", "i1"),
    "int16": ("h", "int16_t", "i2"),
    "int32": ("i", "int32_t", "i4"),
    "int64": ("q", "int64_t", "i8"),
    "uint8": ("B", "uint8_t", "u1"),
    "uint16": ("H", "uint16_t", "u2"),
    "uint32": ("I", "uint32_t", "u4"),
    "uint64": ("Q", "uint64_t", "u8"),
    "float32": ("f", "float", "f4"),
    "float64": ("d", "double", "f8"),
    "boolean": ("?", "uint8_t", "?"),
    "time": ("q", "int64_t", "i8"),
}
_SIZED = re.compile(r"(bytes|string)\[([0-9]{1,8})\]")


class Attribute(NamedTuple):
    """One attribute, with its offset in a tuple's content and the most bytes that a value may
    have.
    """

    name: str
    type: str  # as it was given
    kind: str  # "string", "bytes", or the type itself
    offset: int  # bytes; of a string, where its length is
    bound: int  # bytes: of text, at most; of all others, exactly

    @property
    def end(self) -> int:
        """Offset of its end [bytes]; a string is a struct of a length and a text, as in C."""
        return self.offset + (
            4 + (self.bound + 3) // 4 * 4 if self.kind == "string" else self.bound
        )


@dataclass(frozen=True)
class Schema:
    """The attributes of a stream's tuples, in order. Raises UserError for a name or a type that
    cannot be one.

    `slot`: bytes of a tuple, if it has a `string` without a bound. `types` has all bounds then.
    """

    name: str
    types: tuple[tuple[str, str], ...]

    def __init__(self, name: str, types: Mapping[str, str], slot: int = DEFAULT_SLOT) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "types", tuple(dict(types).items()))
        if not isinstance(name, str) or not name.isidentifier():
            raise UserError(
                f"a schema's name must be a word of letters, digits and _, not {name!r:.60}"
            )
        if not 1 <= len(self.types) <= MAX_ATTRIBUTES:
            raise UserError(
                f"schema {name}: must have from 1 to {MAX_ATTRIBUTES} attributes, not "
                f"{len(self.types)}"
            )
        if UNBOUNDED in (kind for _, kind in self.types):
            object.__setattr__(self, "types", _with_bounds(name, self.types, slot))
        if self.size > MAX_CONTENT:
            raise UserError(
                f"schema {name}: a tuple must have at most {MAX_CONTENT} bytes, not {self.size}"
            )

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes, each aligned to its own size."""
        found, offset = [], 0
        for name, kind in self.types:
            if not isinstance(name, str) or not name.isidentifier():
                raise UserError(
                    f"schema {self.name}: an attribute's name must be a word, not {name!r:.60}"
                )
            sized = _SIZED.fullmatch(kind) if isinstance(kind, str) else None
            if sized is None and kind not in _NUMBERS:
                known = ", ".join((*_NUMBERS, "bytes[N]", "string[N]", UNBOUNDED))
                raise UserError(
                    f"schema {self.name}: type of {name} must be one of {known}, not {kind!r:.60}"
                )
            bound = int(sized[2]) if sized else struct.calcsize(_NUMBERS[kind][0])
            if bound == 0:
                raise UserError(f"schema {self.name}: {name} must hold at least 1 byte, not {kind}")
            what = sized[1] if sized else kind
            align = {"bytes": 1, "string": 4}.get(what, bound)
            offset = (offset + align - 1) // align * align
            found.append(Attribute(name, kind, what, offset, bound))
            offset = found[-1].end
        return tuple(found)

    def __getitem__(self, name: str) -> Attribute:
        """Return the attribute of a name. Raises KeyError if there is none."""
        return self._named[name]

    @cached_property
    def _named(self) -> dict[str, Attribute]:
        return {attribute.name: attribute for attribute in self.attributes}

    @cached_property
    def size(self) -> int:
        """Bytes of a tuple's content: a multiple of 8."""
        return (self.attributes[-1].end + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT

    @cached_property
    def dtype(self) -> Any:
        """The layout as a dtype for numpy and numba; a string is a record of `length` and
        `text`.
        """
        import numpy as np

        def of(attribute: Attribute) -> Any:
            if attribute.kind == "string":
                return np.dtype([("length", np.uint32), ("text", np.uint8, (attribute.bound,))])
            if attribute.kind == "bytes":
                return np.dtype((np.uint8, (attribute.bound,)))
            return np.dtype(_NUMBERS[attribute.kind][2])

        each = self.attributes
        return np.dtype(
            {
                "names": [attribute.name for attribute in each],
                "formats": [of(attribute) for attribute in each],
                "offsets": [attribute.offset for attribute in each],
                "itemsize": self.size,
            }
        )

    def c_struct(self) -> str:
        """Return the declaration of a struct in C that has this layout."""
        lines = []
        for name, kind, what, _, bound in self.attributes:
            if what == "string":
                lines.append(f"  struct {{ uint32_t length; char text[{bound}]; }} {name};")
            elif what == "bytes":
                lines.append(f"  uint8_t {name}[{bound}];")
            else:
                lines.append(f"  {_NUMBERS[kind][1]} {name};")
        return "\n".join(
            [f"struct {self.name} {{", *lines, f"}} __attribute__((aligned({ALIGNMENT})));"]
        )

    @cached_property
    def _packing(self) -> struct.Struct:
        codes, at = ["="], 0
        for attribute in self.attributes:
            codes.append(f"{attribute.offset - at}x")
            if attribute.kind == "string":
                codes.append(f"I{attribute.bound}s")
            elif attribute.kind == "bytes":
                codes.append(f"{attribute.bound}s")
            else:
                codes.append(_NUMBERS[attribute.kind][0])
            at = attribute.offset + attribute.bound + (4 if attribute.kind == "string" else 0)
        return struct.Struct("".join([*codes, f"{self.size - at}x"]))

    def pack(self, values: Mapping[str, Any]) -> bytes:
        """Return a tuple's content. Raises ValueError for an attribute that is missing, unknown, or
        does not fit.
        """
        if len(values) != len(self.types):
            wanted = [name for name, _ in self.types]
            raise ValueError(
                f"a tuple of {self.name} must have {', '.join(wanted)}, not "
                f"{', '.join(map(str, values))}"
            )
        words: list[Any] = []
        for attribute in self.attributes:
            try:
                value = values[attribute.name]
            except KeyError:
                raise ValueError(f"a tuple of {self.name} must have {attribute.name}") from None
            if attribute.kind == "string":
                value = value.encode() if isinstance(value, str) else value
                if not isinstance(value, (bytes, bytearray)):
                    raise ValueError(
                        f"{self.name}.{attribute.name} must be text, not {value!r:.40}"
                    )
                if len(value) > attribute.bound:
                    raise ValueError(
                        f"{self.name}.{attribute.name} must have at most {attribute.bound} bytes, "
                        f"not {len(value)}"
                    )
                words.append(len(value))
            elif attribute.kind == "bytes" and not (
                isinstance(value, (bytes, bytearray)) and len(value) == attribute.bound
            ):
                given = len(value) if isinstance(value, (bytes, bytearray)) else f"{value!r:.40}"
                raise ValueError(
                    f"{self.name}.{attribute.name} must have {attribute.bound} bytes, not {given}"
                )
            elif attribute.kind == "boolean" and value not in (0, 1):
                raise ValueError(
                    f"{self.name}.{attribute.name} must be true or false, not {value!r:.40}"
                )
            words.append(value)
        try:
            return self._packing.pack(*words)
        # OverflowError: a number too large for a float
        except (struct.error, OverflowError) as problem:
            raise ValueError(
                f"a tuple of {self.name} cannot be made of {dict(values)!r:.80}: {problem}"
            ) from None

    def unpack(self, content: bytes) -> dict[str, Any]:
        """Return the values in a tuple's content; bytes of a string that are not UTF-8 become
        U+FFFD.
        """
        words = iter(self._packing.unpack(content))
        values: dict[str, Any] = {}
        for attribute in self.attributes:
            if attribute.kind == "string":
                length = next(words)
                values[attribute.name] = next(words)[:length].decode(errors="replace")
            else:
                values[attribute.name] = next(words)
        return values


def _with_bounds(
    name: str, types: tuple[tuple[str, str], ...], slot: int
) -> tuple[tuple[str, str], ...]:
    """Return the types with equal bounds for strings that have none: the largest with which a tuple
    fits into a slot. Raises UserError for a slot that has no room for a byte of each.
    """

    def bounded(bytes_each: int) -> Mapping[str, str]:
        return {
            attribute: f"string[{bytes_each}]" if kind == UNBOUNDED else kind
            for attribute, kind in types
        }

    least = Schema(name, bounded(1))
    if not isinstance(slot, int) or isinstance(slot, bool) or not least.size <= slot <= MAX_CONTENT:
        raise UserError(
            f"schema {name}: slot must be a whole number from {least.size} to {MAX_CONTENT} bytes, "
            f"not {slot!r:.60}"
        )
    unbounded = sum(kind == UNBOUNDED for _, kind in types)
    # an estimate from above: alignment may take up to so much of each
    most = (slot - least.size) // unbounded + 2 * ALIGNMENT
    while most > 1 and Schema(name, bounded(most)).size > slot:
        most -= 1
    return tuple(bounded(most).items())
