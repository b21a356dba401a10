"""What a reader sees of a Comparison. `rows` says what a table has, `words` what it means; one file for each form of it:
`text`, `markdown`, `table` (CSV), `junit`. JSON is in `harness.gate.results`.
"""
