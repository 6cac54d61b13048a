"""A run applied to images, labels, points and dose, and the one map that stands for all its draws."""

from credwarp.propagate.answers import carried, dose, labels, points, refuse_outside, selected
from credwarp.propagate.images import Interpolation, apply, samples
from credwarp.propagate.mean import MeanTransform, mean_transform
from credwarp.propagate.record import dice_figures, record, write_dose, write_labels
from credwarp.propagate.summary import Summary, summarise, uncertainty_correlation

__all__ = [
    "Interpolation",
    "MeanTransform",
    "Summary",
    "apply",
    "carried",
    "dice_figures",
    "dose",
    "labels",
    "mean_transform",
    "points",
    "record",
    "refuse_outside",
    "samples",
    "selected",
    "summarise",
    "uncertainty_correlation",
    "write_dose",
    "write_labels",
]
