"""Folding draws: each is seen once, by everyone who asks something, and forgotten."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar, runtime_checkable

from credwarp.errors import InputError
from credwarp.shapes import Fields

State = TypeVar("State")
Result = TypeVar("Result", covariant=True)


@runtime_checkable
class Fold(Protocol[State, Result]):
    """A question about all draws that can be answered one draw at a time."""

    def begin(self, like: Fields) -> State:
        """What is known before the first draw; `like` is only looked at for its shape, type and device."""

    def add(self, state: State, displacement: Fields) -> State:
        """What is known after one more draw: φ − id of one chain, in voxels."""

    def end(self, state: State) -> Result:
        """The answer."""


def folded(displacements: Iterable[Fields], folds: Mapping[str, Fold[Any, Any]]) -> dict[str, Any]:
    """The answers to all questions in one pass; one draw is in memory at a time."""
    states: dict[str, Any] = {}
    for displacement in displacements:
        if not states:
            states = {name: fold.begin(displacement) for name, fold in folds.items()}
        states = {name: fold.add(states[name], displacement) for name, fold in folds.items()}
        # Its room is free while the next one is made.
        del displacement
    if not states:
        raise InputError("there are no draws to summarise; sample some first.")
    return {name: fold.end(states[name]) for name, fold in folds.items()}
