"""The rules of `harness.files.closure`, each on a project of a few files."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from harness.files import closure as module


@pytest.fixture
def closure_of(tmp_path, monkeypatch):
    """`closure_of(files)`: what `project.a` depends on in a project of these files, by their
    texts.
    """
    caches = [
        each for each in vars(module).values() if isinstance(each, functools._lru_cache_wrapper)
    ]
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "PACKAGES", ("project",))
    monkeypatch.setattr(module, "LATE_IMPORTS", frozenset(("project.door",)))
    monkeypatch.setattr(module, "FOUND_BY_NAME", {"project.find": ("project/found", ".yaml")})

    def closure_of(
        files: dict[str, str], *modules: str, names: frozenset[str] = frozenset()
    ) -> set[str]:
        for name, text in {"__init__.py": "", **files}.items():
            path: Path = tmp_path / "project" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for cache in caches:
            cache.cache_clear()
        found = module.closure("project.a", *modules, names=names)
        return {
            file.relative_to(tmp_path / "project").as_posix()
            for file in found
            if file.name != "setup.py"
        }

    yield closure_of
    for cache in caches:
        cache.cache_clear()


PACKAGE = {"p/__init__.py": '"""A package."""\nNAMES = ("x",)\n', "p/x.py": "", "p/y.py": ""}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import project.b", {"b.py"}),
        ("from project import b", {"b.py"}),
        ("from project.b import name", {"b.py"}),
        ("def f():\n    from project import b", {"b.py"}),
        ('COMMAND = ("-m", "project.b")', {"b.py"}),
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import project.b\nelse:\n    "
            "import project.c",
            {"c.py"},
        ),
        ("import os, json", set()),
        ("import project.unknown", set()),
        ("from project.p import x", {"p/x.py"}),
        ("from project.p.x import name", {"p/x.py"}),
        ("from project.p import NAMES", {"p/__init__.py"}),
        ("from project.p import x, NAMES", {"p/__init__.py", "p/x.py"}),
        ("import project.p", {"p/__init__.py"}),
    ],
)
def test_imports(closure_of, text, expected):
    assert closure_of({"a.py": text, "b.py": "", "c.py": "", **PACKAGE}) == {"a.py"} | expected


def test_what_is_imported_is_followed_and_a_circle_ends(closure_of):
    files = {
        "a.py": "import project.b",
        "b.py": "import project.c",
        "c.py": "import project.a",
        "d.py": "import project.a",
    }
    assert closure_of(files) == {"a.py", "b.py", "c.py"}


def test_a_package_that_imports_counts_for_all_its_modules(closure_of):
    active = PACKAGE | {"p/__init__.py": "from project.p.y import name"}
    assert closure_of({"a.py": "from project.p import x", **active}) == {
        "a.py",
        "p/__init__.py",
        "p/x.py",
        "p/y.py",
    }


def test_a_door_is_entered_if_the_result_names_it(closure_of):
    files = {"a.py": "def f():\n    import project.door", "door.py": "import project.b", "b.py": ""}
    assert closure_of(files) == {"a.py"}
    assert closure_of(files, "project.door") == {"a.py", "door.py", "b.py"}


def test_data_counts_if_a_module_beside_it_names_it(closure_of):
    data = {"page.html": "", "claims.yaml": "", "other.yaml": "", "notes.md": "", "p/page.css": ""}
    assert closure_of({"a.py": 'FILES = ("page.html", "claims", "notes")', **data}) == {
        "a.py",
        "page.html",
        "claims.yaml",
    }


def test_what_is_found_by_name_counts_if_the_result_or_who_finds_it_names_it(closure_of):
    found = {
        "found/one.yaml": "",
        "found/two.yaml": "",
        "found/three.yaml": "",
        "__init__.py": "def find(name): ...",
    }
    finding = {"a.py": 'from project import find\nfind("one")', **found}
    assert closure_of(finding) == {"a.py", "__init__.py", "found/one.yaml"}
    assert closure_of(finding, names=frozenset(("two",))) == {
        "a.py",
        "__init__.py",
        "found/one.yaml",
        "found/two.yaml",
    }
    assert closure_of({"a.py": 'NAMES = ("one",)', **found}, names=frozenset(("two",))) == {
        "a.py",
        "__init__.py",
    }


def test_a_compiled_module_depends_on_what_it_is_built_from_and_what_it_executes(closure_of):
    files = {
        "a.pyx": "from project.b cimport f\nfrom project cimport declared\nfrom project.c import "
        '(\n    one,\n    two,\n)\ninclude "part.pxi"\n',
        "a.cpython-311.so": "",
        "part.pxi": "from project.e cimport g\nimport project.f\n",
        "e.pyx": "",
        "e.pxd": "cdef void g()\n",
        "f.py": "",
        "b.pyx": "import project.d\n",
        "b.pxd": 'cdef extern from "b.hpp":\n    void f()\n',
        "declared.pxd": 'cdef extern from "declared.hpp" nogil:\n    pass\n',
        "c.py": "",
        "d.py": "",
        "native/b.hpp": '#include <vector>\n#include "deeper/c.hpp"\n',
        "native/deeper/c.hpp": '#include "../d.hpp"\n',
        "native/d.hpp": "",
        "native/declared.hpp": "",
        "native/unused.hpp": "",
    }
    assert closure_of(files) == files.keys() - {"native/unused.hpp"}


def test_a_digest_is_of_names_and_contents(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROOT", tmp_path)
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("1")
    two.write_text("1")
    digests = [module.digest([one]), module.digest([two]), module.digest([one, two])]
    one.write_text("2")
    assert len({*digests, module.digest([one]), module.digest([one, two])}) == 5
    assert module.digest([two, one]) == module.digest([one, two])
