"""Millrace: how should a stream program use the threads of its machine?"""

import importlib
import warnings
from importlib.abc import Loader, MetaPathFinder
from importlib.util import spec_from_loader
from sys import meta_path

try:
    from harness.built_version import version as __version__
except ModuleNotFoundError:  # a checkout: records have its commit
    __version__ = "0.1.0"

MOVED = {
    "annotations": "graph.annotations",
    "c_signature": "graph.functions.c_signature",
    "keys": "graph.keys",
    "native_function": "graph.functions.compiled",
    "policy": "models.policy",
    "schema": "graph.schema",
    "typed": "graph.typed",
}
"""Modules that users' graphs import by an earlier name, which works until the next release."""


class _MovedFinder(MetaPathFinder, Loader):
    """Import a module that has moved by its earlier name, and warn of it."""

    def find_spec(self, fullname, path=None, target=None):
        package, _, name = fullname.partition(".")
        return spec_from_loader(fullname, self) if package == __name__ and name in MOVED else None

    def create_module(self, spec):
        name = MOVED[spec.name.partition(".")[2]]
        warnings.warn(f"{spec.name} is {__name__}.{name} now", DeprecationWarning, stacklevel=2)
        module = importlib.import_module(f"{__name__}.{name}")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        # the import system has given it the spec of the earlier name
        module.__spec__ = module.__spec__.loader_state


meta_path.append(_MovedFinder())
