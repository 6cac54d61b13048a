"""What draws say: folds over them, and whether they can be trusted."""

from credwarp.summaries.overlap import dice, mean_dice

__all__ = ["dice", "mean_dice"]
