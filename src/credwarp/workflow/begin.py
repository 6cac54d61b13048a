"""A run's folder made ready: inputs read once, the pair, the plan and where everything came from kept."""

import importlib.metadata
import platform
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from credwarp.errors import InputError, PlanError
from credwarp.files import (
    LANDMARKS,
    PAIR,
    FolderKeeper,
    RunFolder,
    read_network,
    write_landmarks,
    write_pair,
    write_text,
    write_volume,
)
from credwarp.kernels.threads import count
from credwarp.networks import Network
from credwarp.plan import Plan
from credwarp.propagate import refuse_outside
from credwarp.register import keep_network, refuse_contradictions
from credwarp.workflow.request import Request

PACKAGES = ("torch", "numpy", "scipy", "numba", "nibabel", "SimpleITK", "zarr")


def begin(request: Request, plan: Plan, folder: Path) -> None:
    """From here on `complete` can do the rest, now or after any interruption."""
    refuse_contradictions(plan)
    refuse_used(folder)
    network = network_for(plan, request)
    with removed_if_it_fails(folder):
        RunFolder.create(folder)
        (folder / "state").mkdir(exist_ok=True)
        landmarks = request.landmarks()
        pair = request.prepare(plan)
        if landmarks is not None:
            refuse_outside(pair, landmarks.moving, "moving", landmarks.names)
            write_landmarks(folder / LANDMARKS, landmarks)
        write_pair(folder / PAIR, pair)
        if network is not None:
            keep_network(FolderKeeper(folder), network)
        moving = request.moving.read()
        write_volume(moving.image, folder / "state" / "moving.nii.gz")
        if moving.labels is not None:
            write_volume(moving.labels, folder / "state" / "moving_labels.nii.gz")
        RunFolder(folder).write_provenance(request.provenance() | circumstances(plan))
        write_text(folder / "plan.toml", plan.to_toml())


@contextmanager
def removed_if_it_fails(folder: Path) -> Iterator[None]:
    """A folder that is made inside does not stay behind half full: without its plan it is no run."""
    new = not folder.exists()
    try:
        yield
    except BaseException:
        if new:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def refuse_used(folder: Path) -> None:
    """A folder with a run in it is not written over."""
    if (folder / "plan.toml").exists():
        raise InputError(
            f"{folder} already holds a run; go on with it by `credwarp resume {folder}`, "
            "or name another folder."
        )


def network_for(plan: Plan, request: Request) -> Network | None:
    """The trained network that the plan needs, copied into the run so that it outlives its file."""
    if plan.needs_network and request.network is None:
        raise PlanError(
            "the plan needs a trained network; name its file with --method amortised --model MODEL, or with "
            "--start MODEL."
        )
    if request.network is None:
        return None
    if not plan.needs_network:
        raise PlanError(
            f"the plan has no use for the network {request.network}; add --method amortised, or give it "
            "as --start."
        )
    return read_network(request.network)


def circumstances(plan: Plan) -> dict[str, Any]:
    """Versions, machine and command."""
    return {
        "credwarp": importlib.metadata.version("credwarp"),
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
        "machine": f"{platform.system()} {platform.machine()}",
        "threads": count(),
        "torch_threads": torch.get_num_threads(),
        "seed": plan.seed,
        "command": shlex.join(["credwarp", *sys.argv[1:]]),
    }
