"""Nexmark query 2: bids of an auction site on each 123rd auction."""

from __future__ import annotations

from topologies.nexmark import query

TOPOLOGY = query(2, "bids of an auction site on each 123rd auction", operators=3)
