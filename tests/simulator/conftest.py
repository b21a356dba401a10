import functools
from collections.abc import Iterator

import pytest

import harness.machines.machine
import harness.machines.software


@pytest.fixture(scope="module", autouse=True)
def profiles_are_read_once() -> Iterator[None]:
    """Reading and checking a profile takes longer than most of the simulated runs here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            harness.machines.machine,
            "load_machine",
            functools.cache(harness.machines.machine.load_machine),
        )
        patch.setattr(
            harness.machines.software,
            "load_software",
            functools.cache(harness.machines.software.load_software),
        )
        yield
