"""What draws say: folds over them, and whether they can be trusted."""

from credwarp.summaries.correlation import Correlation, displacement_uncertainty, pearson
from credwarp.summaries.dose import DoseBands, DoseVolumes
from credwarp.summaries.fold import Fold, folded
from credwarp.summaries.labels import Agreement, LabelVotes, Probabilities
from credwarp.summaries.moments import Displacement, DisplacementMoments, Jacobian, JacobianMoments
from credwarp.summaries.overlap import dice, mean_dice
from credwarp.summaries.points import PointClouds, PointMoments
from credwarp.summaries.radius import radius95

__all__ = [
    "Agreement",
    "Correlation",
    "Displacement",
    "DisplacementMoments",
    "DoseBands",
    "DoseVolumes",
    "Fold",
    "Jacobian",
    "JacobianMoments",
    "LabelVotes",
    "PointClouds",
    "PointMoments",
    "Probabilities",
    "dice",
    "displacement_uncertainty",
    "folded",
    "mean_dice",
    "pearson",
    "radius95",
]
