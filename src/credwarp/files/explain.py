"""What a library threw at a broken file, as one sentence of ours."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from credwarp.errors import BudgetError, CredwarpError, InputError

LONGEST_REASON = 140


@contextmanager
def explained(path: Path, what: str) -> Iterator[None]:
    """Whatever fails inside ends as a sentence about `path`, which should have been `what`."""
    nibabel = logging.getLogger("nibabel.global")
    level = nibabel.level
    nibabel.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except CredwarpError:
        raise
    except MemoryError as error:
        raise BudgetError(f"{path} does not fit into memory; crop or resample it first.") from error
    except PermissionError as error:
        raise InputError(f"{path} may not be read by this user; change its permissions.") from error
    except Exception as error:
        raise InputError(
            f"{path} is not a readable {what} ({reason(error)}); copy it again, or export it anew."
        ) from error
    finally:
        nibabel.setLevel(level)


def reason(error: Exception) -> str:
    """The last line of what a library said, which is where ITK says it, cut to a clause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = lines[-1] if lines else type(error).__name__
    said = "".join(c if c.isprintable() else "?" for c in said.rsplit("): ", 1)[-1].strip(" .;"))
    return said if len(said) <= LONGEST_REASON else said[: LONGEST_REASON - 1] + "…"
