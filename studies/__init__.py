"""Studies of our own tools: programs that we run and whose results are in docs/, but that are not installed.

gate_error_rates  how often the gate is wrong on a machine (docs/gate-error-rates.md)
ablation          what each rule of our control laws is worth (docs/laws-bench.md)
fit_names         the statistics of names that PacketAnalysis uses
"""
