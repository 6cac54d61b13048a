"""A pair and a plan in, a posterior over warps out; no files, no printing."""

from credwarp.register.diagnose import Diagnosis, diagnose
from credwarp.register.draws import Drawn, Held
from credwarp.register.parting import bring_together, draw_chain
from credwarp.register.predict import keep_network
from credwarp.register.registration import refuse_contradictions, register, reopen, warmed
from credwarp.register.run import Run, Side
from credwarp.register.stages import Keeper, Kept, Memory, Progress, Series, Watch, unwatched

__all__ = [
    "Diagnosis",
    "Drawn",
    "Held",
    "Keeper",
    "Kept",
    "Memory",
    "Progress",
    "Run",
    "Series",
    "Side",
    "Watch",
    "bring_together",
    "diagnose",
    "draw_chain",
    "keep_network",
    "refuse_contradictions",
    "register",
    "reopen",
    "unwatched",
    "warmed",
]
