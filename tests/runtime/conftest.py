import threading

import pytest

PURE = {"test_layout.py"}
"""Files that start no thread."""


# A sanitizer has a thread of its own, which comes with the first other one: tests count threads.
threading.Thread(target=int).start()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever starts real threads belongs to the heavier layer."""
    for item in items:
        if "tests/runtime" in str(item.path) and item.path.name not in PURE:
            item.add_marker(pytest.mark.heavy)
