"""Lines of an advice's report."""

from types import SimpleNamespace

import pytest

from harness.advise.report import _gain
from harness.compare.contest import By
from harness.compare.standing import ArmRatio


@pytest.mark.parametrize(("low", "keeps"), [(0.9, True), (1.0, True), (1.1, False)])
def test_a_gain_that_may_be_none_says_to_keep_what_one_has(low, keeps):
    advice = SimpleNamespace(
        gain=ArmRatio(1.2, low, 1.4), baseline="manual", final=SimpleNamespace(by=By.THROUGHPUT)
    )
    told = _gain(advice)
    assert "manual" in told
    assert ("keep manual if you have it" in told) is keeps
