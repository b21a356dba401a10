"""Errors that a user can cause, and that are reported in one line."""

import os

TRACEBACK = "MILLRACE_TRACEBACK"
"""Variable that makes errors in a user's Python code show their full traceback, in the measuring
process too. The option --traceback sets it.
"""


def show_traceback(error: BaseException) -> None:
    """Print the full traceback of an error on stderr, if it is asked for."""
    if os.environ.get(TRACEBACK):
        import traceback

        traceback.print_exception(error)


class UserError(Exception):
    """Bad input: the message names the argument, the rule and the value. The command line exits
    with 2.
    """


class RunFailed(Exception):
    """The input was fine but the run was not (an operator raised, a disk was full). The command
    line exits with `exit_code`.
    """

    exit_code = 1
