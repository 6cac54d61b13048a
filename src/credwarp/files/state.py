"""Tensors and facts as one file without pickles: safetensors whose header carries the facts as JSON."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from credwarp.errors import InputError
from credwarp.files.atomic import write_bytes

FACTS = "facts"
RUN_AGAIN = "it is no state of a run, or was damaged: run again into a new folder."


def write_state(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Whole or not at all."""
    own = {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()}
    write_bytes(path, save(own or {"nothing": torch.zeros(1)}, {FACTS: json.dumps(facts)}))


def read_state(path: Path, advice: str = RUN_AGAIN) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `write_state` was given; where it cannot be read, `advice` ends the sentence."""
    with _opened(path, advice) as opened:
        return {name: opened.get_tensor(name) for name in opened.keys()}, _facts(opened)  # noqa: SIM118


def read_facts(path: Path) -> dict[str, Any]:
    """The facts alone."""
    with _opened(path, RUN_AGAIN) as opened:
        return _facts(opened)


def _facts(opened: Any) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((opened.metadata() or {})[FACTS])
    return facts


@contextmanager
def _opened(path: Path, advice: str) -> Iterator[Any]:
    try:
        with safe_open(path, "pt") as opened:
            yield opened
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        said = str(error).strip().splitlines()
        raise InputError(
            f"{path} cannot be read ({said[0] if said else type(error).__name__}); {advice}"
        ) from None
