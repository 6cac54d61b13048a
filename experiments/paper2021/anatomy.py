"""The paper's structures: fifteen subcortical labels of FreeSurfer, in groups by their size."""

from collections.abc import Sequence

GROUPS = {
    "small": ("accumbens", "amygdala", "pallidum"),
    "medium": ("caudate", "hippocampus", "putamen"),
    "large": ("brain stem", "thalamus"),
}
NAMES = {
    16: "brain stem",
    10: "thalamus, left",
    49: "thalamus, right",
    11: "caudate, left",
    50: "caudate, right",
    17: "hippocampus, left",
    53: "hippocampus, right",
    12: "putamen, left",
    51: "putamen, right",
    26: "accumbens, left",
    58: "accumbens, right",
    18: "amygdala, left",
    54: "amygdala, right",
    13: "pallidum, left",
    52: "pallidum, right",
}


def members(group: str) -> tuple[int, ...]:
    """The labels of a group."""
    return tuple(label for label, name in NAMES.items() if name.split(",")[0] in GROUPS[group])


def columns(labels: Sequence[int], wanted: Sequence[int] = tuple(NAMES)) -> list[int]:
    """Where the wanted labels stand among `labels`; those that are not there are left out."""
    places = {label: place for place, label in enumerate(labels)}
    return [places[label] for label in wanted if label in places]
