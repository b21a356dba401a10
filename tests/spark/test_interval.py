"""The Student-t quantiles that Spark is given."""

from __future__ import annotations

import pytest

from harness.measurement.interval import t_975

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(120)]


def test_t_quantiles_are_those_of_the_books_and_of_the_closed_form(spark):
    from pyspark.sql import functions as F

    from harness.spark.interval import t_quantile

    rows = spark.range(0, 400).select("id", t_quantile(F.col("id")).alias("t")).collect()
    quantile = {row.id: row.t for row in rows}
    assert quantile[0] is None
    assert quantile[1] == pytest.approx(12.7062, abs=1e-4)
    assert quantile[4] == pytest.approx(2.77645, abs=1e-5)
    assert quantile[30] == pytest.approx(2.04227, abs=1e-5)
    assert quantile[120] == pytest.approx(1.97993, abs=1e-5)
    for freedom in range(1, 400):
        assert quantile[freedom] == pytest.approx(t_975(freedom), abs=1e-5), freedom
