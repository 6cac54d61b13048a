"""The first sentence of a report: flags of the quality check in words, the gravest first."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

Light: TypeAlias = Literal["green", "amber", "red"]

# Flags that forbid the use of a result, then those that ask for a look; in the order in which they lead.
RED = {
    "not_converged": "the chains have not converged",
    "misfit": "the images do not match, as if they were unrelated",
    "low_overlap": "the images hardly overlap",
}
AMBER = {
    "folds": "some plausible warps fold space",
    "implausible_jacobian": "some tissue shrinks or grows more than is plausible",
    "several_basins": "there are several distinct solutions, and the chains do not cross between them",
    "wider_than_prior": "in places the images say nothing and only the prior speaks",
    "border_displacement": "the warp reaches beyond the border of the image",
    "masks_disagree": "the two masks disagree about what is to be matched",
}
WORDS = {"green": "Good to use", "amber": "Look closer", "red": "Do not use"}
APPROXIMATE = ("vi", "amortised")


class Verdict(NamedTuple):
    """A traffic light and one sentence."""

    light: Light
    sentence: str


def verdict(qc: Mapping[str, Any]) -> Verdict:
    """What the flags of a quality check amount to; limits are the plan's, not decided here."""
    kinds = _kinds(qc)
    grave = [
        words + (_mixing(qc) if kind == "not_converged" else "")
        for kind, words in RED.items()
        if kind in kinds
    ]
    if grave:
        return Verdict("red", f"Do not use this registration: {_joined(grave)}.")
    mild = [words for kind, words in AMBER.items() if kind in kinds]
    unknown = [kind for kind in kinds if kind not in AMBER]
    if unknown:
        mild.append(f"the quality check raised {_joined([kind.replace('_', ' ') for kind in unknown])}")
    method = qc.get("method", "mcmc")
    if method == "map":
        also = f"; also, {_joined(mild)}" if mild else ""
        return Verdict(
            "amber", f"This is the most probable warp alone: nothing here says how sure it is{also}."
        )
    if method in APPROXIMATE:
        mild.insert(0, "the uncertainty is that of an approximation, which can be too narrow")
    if mild:
        lead = "Converged, but look closer" if method not in APPROXIMATE else "Look closer"
        return Verdict("amber", f"{lead}: {_joined(mild)}.")
    return Verdict("green", f"Converged, and no flag was raised{_evidence(qc)}.")


def flags(qc: Mapping[str, Any]) -> list[dict[str, str]]:
    """The quality check's own sentences, with the light of each."""
    return [
        {
            "kind": str(one.get("kind", "")).replace("_", " ").capitalize(),
            "sentence": str(one.get("sentence", "")),
            "light": "red" if one.get("kind") in RED else "amber",
        }
        for one in qc.get("warnings", ())
    ]


def _kinds(qc: Mapping[str, Any]) -> list[str]:
    kinds = [str(one.get("kind", "unnamed")) for one in qc.get("warnings", ())]
    sampled = qc.get("method", "mcmc") == "mcmc"
    if sampled and not qc.get("converged", False) and "not_converged" not in kinds:
        kinds.insert(0, "not_converged")
    return kinds


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"


def _mixing(qc: Mapping[str, Any]) -> str:
    """The figures that convergence is judged by."""
    if qc.get("rhat_max") is None or qc.get("ess_min") is None:
        return ""
    return f" (R-hat up to {qc['rhat_max']:.2f}, as few as {qc['ess_min']:.0f} effective draws)"


def _evidence(qc: Mapping[str, Any]) -> str:
    if qc.get("rhat_max") is None or qc.get("ess_min") is None:
        return ""
    chains = f"{qc['chains']} chains agree" if "chains" in qc else "the chains agree"
    return (
        f": {chains} (R-hat at most {qc['rhat_max']:.3f}) with at least {qc['ess_min']:,.0f} effective draws"
    )
