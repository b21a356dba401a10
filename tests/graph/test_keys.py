"""The key of a tuple: the same in Python and for compiled operators, and the one that splits go
by.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections import Counter
from pathlib import Path

from harness.graph.keys import key_of

ROOT = Path(__file__).resolve().parents[2]
SEQUENCES = (0, 1, 2, 99, 2**32, 2**63 + 5, 2**64 - 1)


def test_python_and_c_find_the_same_key(tmp_path: Path) -> None:
    source, library = tmp_path / "key.c", tmp_path / "key.so"
    source.write_text(
        '#include "millrace.h"\nuint64_t key(uint64_t sequence, uint64_t keys) { return '
        "millrace_key(sequence, keys); }\n"
    )
    flags = ["-shared", "-fPIC", "-I", str(ROOT / "harness/native")]
    subprocess.run(["cc", *flags, str(source), "-o", str(library)], check=True)
    compiled = ctypes.CDLL(str(library)).key
    compiled.argtypes, compiled.restype = [ctypes.c_uint64, ctypes.c_uint64], ctypes.c_uint64
    for keys in (1, 7, 10**9):
        for sequence in SEQUENCES:
            assert key_of(sequence, keys) == compiled(sequence, keys) < keys


def test_keys_come_about_equally_often() -> None:
    counts = Counter(key_of(sequence, 10) for sequence in range(10_000))
    assert len(counts) == 10 and max(counts.values()) < 1.15 * 1000
