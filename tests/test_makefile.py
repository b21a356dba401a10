"""Tests of what the Makefile decides before it makes anything."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from harness.files.places import CODE as ROOT


@pytest.mark.parametrize(
    ("of_the_system", "asked", "found"), [(True, None, "1"), (False, None, "0"), (True, "0", "0")]
)
def test_packages_are_fetched_with_the_certificates_of_the_system_where_it_has_any(
    tmp_path: Path, of_the_system: bool, asked: str | None, found: str
) -> None:
    """A company's proxy has a certificate that uv does not bring."""
    certificates = tmp_path / "ca.pem"
    if of_the_system:
        certificates.touch()
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("UV_SYSTEM_CERTS", "MAKEFLAGS")
    }
    environment |= {"SSL_CERT_FILE": str(certificates)} | (
        {"UV_SYSTEM_CERTS": asked} if asked else {}
    )
    words = ["make", "--silent", "--eval", "shown: ; @echo $$UV_SYSTEM_CERTS", "shown"]
    done = subprocess.run(
        words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == (f"{found}\n", 0), done.stderr
