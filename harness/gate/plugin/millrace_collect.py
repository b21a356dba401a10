"""Plugin of pytest that writes the full names of benchmarks that it has collected, each ended by a
zero byte. It runs in the environment of a tree, and imports nothing of ours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

PLUGIN_FOLDER = str(Path(__file__).parent.absolute())
COLLECTED_VARIABLE = "MILLRACE_COLLECTED"  # environment variable with the name of the file


def pytest_collection_finish(session: Any) -> None:
    """Write the names of all tests that use the fixture of pytest-benchmark."""
    fixtures = {"benchmark", "benchmark_weave"}
    names = [
        item.nodeid for item in session.items if fixtures & set(getattr(item, "fixturenames", ()))
    ]
    Path(os.environ[COLLECTED_VARIABLE]).write_text("".join(f"{name}\0" for name in names))
