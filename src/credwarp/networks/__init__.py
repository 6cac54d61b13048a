"""Amortised inference: a network that predicts VI's law in one pass, the probabilistic VoxelMorph."""

from credwarp.networks.augment import Augmentation, toned
from credwarp.networks.examples import Examples, Library
from credwarp.networks.meanfield import MeanField
from credwarp.networks.network import Network
from credwarp.networks.objective import Loss, Objective
from credwarp.networks.placing import Placed, spot
from credwarp.networks.recipe import Recipe
from credwarp.networks.similarity import LocalCorrelation, Similarity, SquaredDifferences
from credwarp.networks.smoothness import Smoothness
from credwarp.networks.training import Look, Progress, Record, Store, train
from credwarp.networks.unet import Unet, Weights

__all__ = [
    "Augmentation",
    "Examples",
    "Library",
    "LocalCorrelation",
    "Look",
    "Loss",
    "MeanField",
    "Network",
    "Objective",
    "Placed",
    "Progress",
    "Recipe",
    "Record",
    "Similarity",
    "Smoothness",
    "SquaredDifferences",
    "Store",
    "Unet",
    "Weights",
    "spot",
    "toned",
    "train",
]
