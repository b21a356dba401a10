"""Parts of a graph that no stream connects."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Name = TypeVar("Name", bound=Hashable)


def parts_of(behind: Mapping[Name, Iterable[Name]]) -> list[list[Name]]:
    """Return operators by part, in the order of their first ones. `behind`: by operator, those that
    send to it.
    """
    part_of = {name: [name] for name in behind}
    for name, senders in behind.items():
        for sender in senders:
            less, more = sorted((part_of[sender], part_of[name]), key=len)
            if less is not more:
                more += less
                part_of |= dict.fromkeys(less, more)
    parts: dict[int, list[Name]] = {}
    for name in behind:
        parts.setdefault(id(part_of[name]), []).append(name)
    return list(parts.values())
