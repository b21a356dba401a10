"""What the tests of our law that places queues share."""

from __future__ import annotations

import pytest

from harness.elasticity.multilevel import millrace


@pytest.fixture
def without_looks_at_rest(monkeypatch):
    """Settled it stays settled, as long as nothing changes."""
    monkeypatch.setattr(millrace, "RESTS", 10**9)
