"""Nexmark query 1: each bid of an auction site, with its price in euros."""

from __future__ import annotations

from topologies.nexmark import query

TOPOLOGY = query(1, "each bid of an auction site, with its price in euros", operators=3)
