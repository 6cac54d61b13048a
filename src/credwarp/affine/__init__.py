"""Rigid, then affine pre-alignment by mutual information, from several starts."""

from credwarp.affine.search import Alignment, Attempt, align

__all__ = ["Alignment", "Attempt", "align"]
