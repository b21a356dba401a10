"""Constants that Millrace's own laws share.

Each law has further ones, which were tuned for it alone.
"""

from __future__ import annotations

HORIZON = 50.0  # periods over which a look at another configuration has to pay
LEARNING_PERIODS = 9  # settled periods that still count as measurements
LOAD_CHANGE_SIGMAS = 4.0  # standard deviations beyond which a difference is more than noise
MAX_PRINTED_LOG_RATIO = 12.0  # logarithm of the largest ratio that a reason prints exactly

NOISE_ODDS = {0.004: 0.25, 0.012: 0.2, 0.025: 0.2, 0.045: 0.15, 0.075: 0.1, 0.13: 0.07, 0.22: 0.03}
"""Prior odds by noise: the standard deviation of a period's logarithm of throughput."""
