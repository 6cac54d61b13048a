"""Every choice of a run, one frozen tree: to and from TOML, with a schema and sentences for what is wrong."""

import difflib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, Literal, TypeAlias, get_args

import tomli_w
from annotated_types import Ge, Gt, Le
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from credwarp.errors import PlanError
from credwarp.likelihoods import Likelihood, Mixture
from credwarp.priors import Prior, SobolevEnergy
from credwarp.samplers import (
    Fixed,
    Hyper,
    Lbfgs,
    LowBlock,
    Metric,
    Optimiser,
    Sampler,
    Structured,
    Underdamped,
    Variational,
)
from credwarp.settings import changed
from credwarp.transforms import DenseSvf, Transform


@dataclass(frozen=True)
class Preparation:
    """On which voxels the pair is compared: the fixed image's own, or cubes of `spacing` millimetres."""

    spacing: Literal["fixed"] | Annotated[float, Gt(0)] = "fixed"


@dataclass(frozen=True)
class PreAlignment:
    """How the images come to overlap: `header` trusts their geometry, the others align them first."""

    kind: Literal["header", "rigid", "affine"] = "affine"


@dataclass(frozen=True)
class Cosine:
    """Inference in cosine coefficients, where the prior is diagonal: the default."""

    kind: Literal["cosine"] = "cosine"


@dataclass(frozen=True)
class Smoothed:
    """The paper's: voxel values, seen through a Sobolev kernel `width` taps wide (λ_H1 = `smoothing`)."""

    kind: Literal["smoothed"] = "smoothed"
    width: Literal[1, 3, 5, 7, 9, 11] = 7
    smoothing: Annotated[float, Gt(0)] = 0.5


Coordinates: TypeAlias = Annotated[Cosine | Smoothed, Field(discriminator="kind")]


@dataclass(frozen=True)
class Optimisation:
    """The search for the most probable warp: levels from coarse to fine, and from how many starts.

    With `start` network it is one climb at the finest level, from what a trained network predicts.
    """

    levels: tuple[Annotated[int, Ge(1)], ...] = (4, 2, 1)
    rounds: Annotated[int, Ge(1)] = 3
    starts: Annotated[int, Ge(1), Le(8)] = 2
    start: Literal["levels", "network"] = "levels"


@dataclass(frozen=True)
class Sampling:
    """How many chains, how many draws of all together are kept, one in `thin`, after `warmup` transitions.

    Chains start at draws of the variational law, at no deformation, or at standard normal noise.
    """

    chains: Annotated[int, Ge(1), Le(64)] = 4
    draws: Annotated[int, Ge(1)] = 1000
    thin: Annotated[int, Ge(1)] = 8
    warmup: Annotated[int, Ge(0)] = 300
    chunk: Annotated[int, Ge(1)] = 5
    start: Literal["approximation", "identity", "noise"] = "approximation"

    @property
    def each(self) -> int:
        """Draws of one chain."""
        return -(-self.draws // self.chains)


@dataclass(frozen=True)
class Quality:
    """When a result is flagged; docs/quality.md says where each number comes from."""

    rhat: Annotated[float, Gt(1)] = 1.05
    ess: Annotated[float, Gt(0)] = 200.0
    fold_fraction: Annotated[float, Ge(0)] = 1e-5
    smallest_jacobian: float = 0.05
    largest_jacobian: Annotated[float, Gt(1)] = 10.0
    border: Annotated[float, Gt(0)] = 3.0
    prior_share: Annotated[float, Gt(0)] = 1.2
    prior_fraction: Annotated[float, Gt(0), Le(1)] = 0.01
    overlap: Annotated[float, Gt(0), Le(1)] = 0.5
    mask_agreement: Annotated[float, Gt(0), Le(1)] = 0.8
    likeness: Annotated[float, Le(1)] = 0.45


class Plan(BaseModel):
    """What to do with a pair; the defaults are the recommended choices."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: Annotated[int, Ge(0)] = 0
    preparation: Preparation = Preparation()
    prealignment: PreAlignment = PreAlignment()
    transform: Transform = DenseSvf()
    likelihood: Likelihood = Mixture()
    prior: Prior = SobolevEnergy()
    method: Literal["map", "vi", "mcmc", "amortised"] = "mcmc"
    coordinates: Coordinates = Cosine()
    optimisation: Optimisation = Optimisation()
    optimiser: Optimiser = Lbfgs(iterations=20)
    hyper: Hyper = Fixed()
    variational: Variational = Structured(iterations=10)
    sampler: Sampler = Underdamped()
    metric: Metric = LowBlock()
    sampling: Sampling = Sampling()
    quality: Quality = Quality()

    @property
    def needs_network(self) -> bool:
        """Whether a trained network has a part in it."""
        return self.method == "amortised" or self.optimisation.start == "network"

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> "Plan":
        """A plan from nested tables; what is not in them is the default."""
        _refuse_unknown(tree)
        try:
            return cls.model_validate(dict(tree))
        except ValidationError as error:
            raise PlanError(_sentence(error)) from None

    @classmethod
    def from_toml(cls, text: str) -> "Plan":
        """A plan from a TOML document."""
        try:
            tree = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise PlanError(f"the plan is not TOML: {error}; compare it with `credwarp plan`.") from None
        return cls.from_dict(tree)

    def to_dict(self) -> dict[str, Any]:
        """The whole tree, defaults included."""
        return self.model_dump(mode="json")

    def to_toml(self) -> str:
        """The whole tree as a TOML document."""
        return tomli_w.dumps(self.to_dict())

    def with_settings(self, settings: Iterable[str]) -> "Plan":
        """Changed by `a.b=c` settings, in order; a new `kind` starts from that kind's defaults."""
        return self.from_dict(changed(self.to_dict(), settings))


def schema() -> str:
    """The JSON schema of a plan."""
    return json.dumps(Plan.model_json_schema(), indent=2)


def _refuse_unknown(tree: Mapping[str, Any]) -> None:
    """Name fields that do not exist, and the ones that do."""
    sections = set(Plan.model_fields)
    for name, table in tree.items():
        if name not in sections:
            raise PlanError(_unknown(name, sections))
        if not isinstance(table, dict):
            continue
        known = _fields(name, table.get("kind"))
        for key in table:
            if known and key not in known:
                raise PlanError(_unknown(f"{name}.{key}", {f"{name}.{k}" for k in known}))


def _fields(section: str, kind: object) -> set[str]:
    """The fields of a section's member of that kind, of its default without one; none if there is no such."""
    info = Plan.model_fields[section]
    members = [m for m in (info.annotation, *get_args(info.annotation)) if is_dataclass(m)]
    if not members:
        return set()
    if kind is None or len(members) == 1:
        members = [type(info.default)]
    else:
        members = [m for m in members if kind in [f.default for f in fields(m) if f.name == "kind"]]
    return {f.name for m in members for f in fields(m)}


def _unknown(name: str, known: set[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(sorted(known))}."
    return f"{name} is not a choice of the plan; {hint}"


def _sentence(error: ValidationError) -> str:
    """The first field that is wrong, its value, and every way it could have been right."""
    problems = error.errors(include_url=False)
    path = _path(problems[0]["loc"])
    wanted = []
    for problem in problems:
        if _path(problem["loc"]) == path and problem["type"] != "missing":
            wanted.append(_wanted(problem["msg"]))
    value = problems[0]["input"]
    if problems[0]["type"] == "union_tag_invalid":
        context = problems[0]["ctx"]
        return f"{path}.kind is {context['tag']}; it must be one of {context['expected_tags']}."
    return f"{path} is {value!r}; it must be {' or '.join(dict.fromkeys(wanted))}."


def _path(location: tuple[int | str, ...]) -> str:
    """The field's name in the plan: without pydantic's marks for members of a union."""
    kinds = _kinds()
    names = [str(part) for part in location if isinstance(part, str)]
    kept = [n for i, n in enumerate(names) if n.isidentifier() and not (i == 1 and n in kinds)]
    return ".".join(kept[:2])


def _kinds() -> set[str]:
    found = set()
    for info in Plan.model_fields.values():
        for member in (info.annotation, *get_args(info.annotation)):
            if is_dataclass(member):
                found |= {str(f.default) for f in fields(member) if f.name == "kind"}
    return found


def _wanted(message: str) -> str:
    if "dictionary" in message:
        return "a section with fields of its own"
    rest = message.removeprefix("Input should be ").split(", unable")[0]
    noun = rest.removeprefix("a valid ")
    if noun == rest:
        return rest
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
