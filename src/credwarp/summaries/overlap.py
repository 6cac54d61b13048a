"""How well two label maps agree."""

import torch

from credwarp.shapes import Labels


def dice(first: Labels, second: Labels) -> dict[int, float]:
    """2 |A ∩ B| / (|A| + |B|) of each label that either map has, background 0 left out."""
    found = {}
    for label in torch.unique(torch.cat([first.unique(), second.unique()])).tolist():
        if label == 0:
            continue
        one, other = first == label, second == label
        found[int(label)] = 2 * float((one & other).sum()) / float(one.sum() + other.sum())
    return found


def mean_dice(first: Labels, second: Labels) -> float:
    """The average of `dice` over labels."""
    each = dice(first, second)
    return sum(each.values()) / len(each)
