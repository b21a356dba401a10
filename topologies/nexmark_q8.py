"""Nexmark query 8: people who came to an auction site and opened an auction within 10 seconds."""

from __future__ import annotations

from topologies.nexmark import query

TOPOLOGY = query(
    8, "people who came to an auction site and opened an auction within 10 seconds", operators=4
)
