"""Files of results: the verdict of a call as JSON, and files of this and of other programs as sides
of a comparison.

verdict_file.py     a Comparison as JSON and back; pytest-benchmark can read the file too
pytest_format.py    the part of it that pytest-benchmark knows: statistics of head's samples,
                    machine, commit
load.py             the text of a file, in any encoding, packed or not
read.py             the numbers of a side in a file, one for each cell and process (`side.py`).
                    The content shows which program wrote it. Formats of other programs are in
                    pyperf.py, hyperfine.py, google_benchmark.py, go_bench.py, jmh.py, criterion.py,
                    asv.py and named_values.py
terms.py            the user's terms for cells of files
compare_files.py    two sides that were measured before: a Comparison that was not interleaved
"""

from harness.gate.results.compare_files import compare_files
from harness.gate.results.read import read_results
from harness.gate.results.side import Results
from harness.gate.results.verdict_file import VerdictFile, read_verdict, write_json

__all__ = ["Results", "VerdictFile", "compare_files", "read_results", "read_verdict", "write_json"]
