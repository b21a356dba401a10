"""The report of a Comparison. `rows` has the cells of a table, and `words` the sentences. Each form
has a file: `text`, `markdown`, `table` (CSV), `junit`. JSON is in `harness.gate.results`."""
