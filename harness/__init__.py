"""Millrace: how should a stream program use the threads of its machine?"""

__version__ = "0.1.0"
