"""What can go wrong, as one sentence each and the exit code it ends with."""


class CredwarpError(Exception):
    """A failure that is explained by its message: what, got, do."""

    exit_code = 1


class PlanError(CredwarpError):
    """A choice that does not exist or is out of its range."""

    exit_code = 2


class InputError(CredwarpError):
    """A file or volume that cannot be read, or that contradicts another."""

    exit_code = 3


class Busy(InputError):
    """Another process is at work where this one would be."""


class BudgetError(CredwarpError):
    """More memory, disk or time than there is."""

    exit_code = 5


class Interrupted(CredwarpError):
    """Stopped by whoever started it; what is there can be gone on with."""

    exit_code = 130
