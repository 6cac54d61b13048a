"""Many pairs on dask: a table checked whole, nothing lost, nothing done twice."""

from credwarp.batch.agenda import Agenda, Outcome
from credwarp.batch.cases import Case
from credwarp.batch.checks import Choices
from credwarp.batch.cohort import Cohort
from credwarp.batch.engine import News, Order
from credwarp.batch.machines import QUEUES, Certificates, Existing, Jobs, Local, Machines, Where
from credwarp.batch.places import Roots
from credwarp.batch.run import Source, begin_folder, local, run

__all__ = [
    "QUEUES",
    "Agenda",
    "Case",
    "Certificates",
    "Choices",
    "Cohort",
    "Existing",
    "Jobs",
    "Local",
    "Machines",
    "News",
    "Order",
    "Outcome",
    "Roots",
    "Source",
    "Where",
    "begin_folder",
    "local",
    "run",
]
