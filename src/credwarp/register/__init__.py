"""A pair and a plan in, a posterior over warps out; no files, no printing."""

from credwarp.register.run import Drawn, Held, Run, Side

__all__ = ["Drawn", "Held", "Run", "Side"]
