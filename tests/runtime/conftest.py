import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever starts real threads belongs to the heavier layer."""
    for item in items:
        if "tests/runtime" in str(item.path):
            item.add_marker(pytest.mark.heavy)
