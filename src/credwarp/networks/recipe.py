"""How a network is trained: every choice, frozen, so that a training can be told, repeated and resumed."""

from collections.abc import Iterable
from typing import Annotated, Any

from annotated_types import Ge, Gt, Lt
from pydantic import BaseModel, ConfigDict, ValidationError

from credwarp.errors import PlanError
from credwarp.networks.augment import Augmentation
from credwarp.networks.objective import Objective
from credwarp.networks.unet import Unet
from credwarp.samplers import Adam
from credwarp.settings import changed, strangers


class Recipe(BaseModel):
    """An epoch is `images` images; `patience` epochs in a row without a better held-out loss end it.

    The weights that are kept are a running average over about 1/(1 − `memory`) steps, `pairs` pairs a step.
    A share `held_out` of the images is not trained on.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: Annotated[int, Ge(0)] = 0
    epochs: Annotated[int, Ge(1)] = 60
    images: Annotated[int, Ge(1)] = 128
    pairs: Annotated[int, Ge(1)] = 2
    patience: Annotated[int, Ge(1)] = 12
    held_out: Annotated[float, Gt(0), Lt(1)] = 0.2
    memory: Annotated[float, Ge(0), Lt(1)] = 0.99
    architecture: Unet = Unet()
    objective: Objective = Objective()
    augmentation: Augmentation = Augmentation()
    optimiser: Adam = Adam(step_size=1e-3, decay=5e-4)

    @classmethod
    def from_dict(cls, tree: dict[str, Any]) -> "Recipe":
        """From nested tables; what is not in them is the default."""
        try:
            found = cls.model_validate(tree)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            path = ".".join(str(part) for part in problem["loc"])
            raise PlanError(f"{path} is {problem['input']!r}; {problem['msg'].lower()}.") from None
        unknown = strangers(tree, found.to_dict())
        if unknown:
            raise PlanError(f"{unknown[0]} is not a choice of a training; docs/networks.md has a list.")
        return found

    def to_dict(self) -> dict[str, Any]:
        """The whole tree, defaults included."""
        return self.model_dump(mode="json")

    def with_settings(self, settings: Iterable[str]) -> "Recipe":
        """Changed by `a.b=c` settings; a new `kind` starts from that kind's defaults."""
        return self.from_dict(changed(self.to_dict(), settings))
