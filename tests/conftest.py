"""What every test shares: tensor shapes checked at each call, the folder of real pairs, one seed."""

import contextlib
import io
import logging
import os
from pathlib import Path

os.environ.setdefault(
    "OMP_NUM_THREADS", "1"
)  # two test processes share two cores: spinning threads stall both

import hypothesis
import pytest
import torch
from jaxtyping import install_import_hook

SOURCE = Path(__file__).parents[1] / "src" / "credwarp"
# typer reads the commands' signatures, which the hook would change.
ROOMS = {path.stem for path in SOURCE.iterdir() if not path.stem.startswith("_")} - {"cli"}
install_import_hook([f"credwarp.{room}" for room in sorted(ROOMS)], "beartype.beartype")

# The same examples each time: a change is judged by what it changes.
hypothesis.settings.register_profile("same", derandomize=True)
hypothesis.settings.load_profile("same")

REAL_PAIRS = Path(os.environ.get("CREDWARP_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(autouse=True)
def _log_speaks() -> None:
    """A command that ran before may have redirected the package's log; each test finds it as on import."""
    log = logging.getLogger("credwarp")
    log.handlers.clear()
    log.propagate = True
    log.setLevel(logging.NOTSET)


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture(scope="session")
def real_pairs() -> Path:
    if not REAL_PAIRS.is_dir():
        pytest.skip(f"the real pairs are not at {REAL_PAIRS}; set CREDWARP_DATA to where they are.")
    return REAL_PAIRS


@pytest.fixture(scope="session")
def demo(tmp_path_factory) -> tuple[Path, str]:
    """A run of the built-in pair, small, by the command, and what that printed; copy it to change it."""
    from credwarp import cli

    folder, said = tmp_path_factory.mktemp("demo") / "run", io.StringIO()
    settings = ["method=vi", "sampling.draws=40", "optimisation.starts=1", "variational.iterations=4"]
    words = ["--quiet", "demo", "-o", str(folder), "--size", "32", *(f"--set={one}" for one in settings)]
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        assert cli.run(words) == 0
    return folder, said.getvalue()
