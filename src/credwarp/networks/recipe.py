"""How a network is trained: every choice, frozen, so that a training can be told, repeated and resumed."""

import tomllib
from collections.abc import Iterable
from typing import Annotated, Any

from annotated_types import Ge, Gt, Lt
from pydantic import BaseModel, ConfigDict, ValidationError

from credwarp.errors import PlanError
from credwarp.networks.augment import Augmentation
from credwarp.networks.objective import Objective
from credwarp.networks.unet import Unet
from credwarp.samplers import Adam


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
            return cls.model_validate(tree)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            path = ".".join(str(part) for part in problem["loc"])
            raise PlanError(f"{path} is {problem['input']!r}; {problem['msg'].lower()}.") from None

    def to_dict(self) -> dict[str, Any]:
        """The whole tree, defaults included."""
        return self.model_dump(mode="json")

    def with_settings(self, settings: Iterable[str]) -> "Recipe":
        """Changed by `a.b=c` settings; a new `kind` starts from that kind's defaults."""
        tree = self.to_dict()
        for setting in settings:
            path, equals, value = setting.partition("=")
            keys = path.strip().split(".")
            if not equals or not all(keys):
                raise PlanError(f"the setting {setting!r} is not of the form a.b=c, like seed=1.")
            table = tree
            for key in keys[:-1]:
                table = table.get(key, {})
                if not isinstance(table, dict):
                    raise PlanError(f"{path} is not a choice of the training; {key} is a value.")
            if keys[-1] == "kind" and table.get("kind") != value:
                table.clear()
            table[keys[-1]] = _value(value)
        return self.from_dict(tree)


def _value(text: str) -> Any:
    """A TOML value; anything that is none is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()
