"""Errors that a user can cause, and that are reported in one line."""


class UserError(Exception):
    """Bad input: the message names the argument, the rule and the value. The command line exits
    with 2.
    """


class RunFailed(Exception):
    """The input was fine but the run was not (an operator raised, a disk was full). The command
    line exits with `exit_code`.
    """

    exit_code = 1
