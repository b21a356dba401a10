"""Studies of our own tools: programs that we run and whose results are in docs/, but that are not
installed.

gate_error_rates  the error rates of the gate on a machine (docs/appendices/gate-error-rates.md)
ablation          the worth of each rule of our control laws (docs/appendices/laws-bench.md)
fit_names         the statistics of names that PacketAnalysis uses
"""
