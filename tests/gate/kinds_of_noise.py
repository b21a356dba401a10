"""Kinds of noise, as parameters of the tests that simulate whole calls of the gate."""

from __future__ import annotations

import pytest

from studies.gate_error_rates.noise import NOISES

# Each kind takes many seconds. So `make test` has these three: a quiet host, neighbours that come
# and go, and a bias by the place in a block. The slow tests have the others.
ALWAYS = ("quiet", "bursts", "positional")
KINDS = [
    pytest.param(kind, marks=() if kind in ALWAYS else pytest.mark.slow, id=kind) for kind in NOISES
]
