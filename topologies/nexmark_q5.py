"""Nexmark query 5: auctions with the most bids in the last 10 seconds, each 5 seconds."""

from __future__ import annotations

from topologies.nexmark import query

TOPOLOGY = query(
    5, "auctions with the most bids in the last 10 seconds, each 5 seconds", operators=5
)
