"""Student-t intervals as column functions. Spark has no quantile of the t distribution, so it is given here."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

Z = 1.959963984540054  # 97.5 % quantile of the normal distribution

T_QUANTILES = (
    *(12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157, 2.228139),
    *(2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922, 2.093024, 2.085963),
    *(2.079614, 2.073873, 2.068658, 2.063899, 2.059539, 2.055529, 2.051831, 2.048407, 2.045230, 2.042272),
)
"""97.5 % quantiles of the t distribution for 1 to 30 degrees of freedom (any statistical table)."""


def t_quantile(freedom: Column) -> Column:
    """97.5 % quantile of the t distribution with `freedom` degrees of freedom; null below 1.

    Beyond the table: the Cornish-Fisher expansion in 1/freedom (Abramowitz and Stegun 26.7.5), three terms; its error is below
    1e-5 from 31 degrees on.
    """
    first = (Z**3 + Z) / 4
    second = (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96
    third = (3 * Z**7 + 19 * Z**5 + 17 * Z**3 - 15 * Z) / 384
    expansion = F.lit(Z) + first / freedom + second / freedom**2 + third / freedom**3
    table = F.expr(f"array({', '.join(f'{quantile}D' for quantile in T_QUANTILES)})")
    return F.when(freedom > len(T_QUANTILES), expansion).when(freedom >= 1, F.get(table, (freedom - 1).cast("int")))


def half_width(n: Column, deviation: Column) -> Column:
    """Half of the 95 % interval of a mean of `n` values with the sample standard deviation `deviation`; null for n < 2."""
    return t_quantile(n - 1) * deviation / F.sqrt(n)
