"""Where workers are: on this machine, at a scheduler that runs already, or jobs of a queueing system."""

import importlib.util
import logging
import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from dask_jobqueue.lsf import LSFCluster
from dask_jobqueue.oar import OARCluster
from dask_jobqueue.pbs import PBSCluster
from dask_jobqueue.sge import SGECluster
from dask_jobqueue.slurm import SLURMCluster
from distributed import Client, LocalCluster, Security

from credwarp.batch.remote import MEMORY, OnePairAtATime
from credwarp.errors import InputError

LOOPBACK = "127.0.0.1"
POOLS = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS", "ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS",
)  # fmt: skip
# dask-jobqueue's class for each queueing system, and what it calls an account.
QUEUES: dict[str, tuple[Any, str]] = {
    "slurm": (SLURMCluster, "account"),
    "pbs": (PBSCluster, "account"),
    "sge": (SGECluster, "project"),
    "lsf": (LSFCluster, "project"),
    "oar": (OARCluster, "project"),
}
PATIENCE = 20.0


@dataclass(frozen=True)
class Certificates:
    """PEM files that every part of a cluster shows the others."""

    authority: Path
    certificate: Path
    key: Path

    def security(self) -> Security:
        """For scheduler, workers and client alike."""
        shown: dict[str, str] = {}
        for role in ("client", "scheduler", "worker"):
            shown |= {f"tls_{role}_cert": str(self.certificate), f"tls_{role}_key": str(self.key)}
        return Security(require_encryption=True, tls_ca_file=str(self.authority), **shown)


@dataclass(frozen=True)
class Machines:
    """Connected. `room_mb` is what all pairs may take together, `each_mb` a worker's if it is not its own."""

    client: Client
    room_mb: float
    each_mb: float | None
    address: str

    def prepare(self) -> None:
        """Every worker, those to come too, takes one pair at a time and says how much memory it has."""
        self.client.register_plugin(OnePairAtATime(self.each_mb), name="credwarp")

    def ready(self) -> list[float]:
        """The memory of each worker that has come and has been prepared."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        return [worker["resources"][MEMORY] for worker in workers if MEMORY in worker["resources"]]

    def at_work(self) -> set[str]:
        """The keys of tasks that some worker has."""
        return {key for keys in self.client.processing().values() for key in keys}

    @property
    def dashboard(self) -> str:
        """Where to look on; without bokeh dask has plain pages only."""
        link = str(self.client.dashboard_link)
        if importlib.util.find_spec("bokeh") is None:
            return link.replace("/status", "/info/main/workers.html")
        return link


@dataclass(frozen=True)
class Local:
    """Processes of this machine, which share its memory and nobody else can reach."""

    workers: int
    threads: int
    memory_mb: float
    certificates: Certificates | None = None

    @contextmanager
    def opened(self) -> Iterator[Machines]:
        """A process a worker; they end with this one, however that ends."""
        security = None if self.certificates is None else self.certificates.security()
        with (
            _environment(pools(self.threads)),
            tempfile.TemporaryDirectory(prefix="credwarp-", ignore_cleanup_errors=True) as scratch,
            LocalCluster(
                n_workers=self.workers, threads_per_worker=1, processes=True, host=LOOPBACK,
                dashboard_address=f"{LOOPBACK}:0", memory_limit=0, local_directory=scratch,
                security=security, silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster, timeout=PATIENCE) as client,
        ):  # fmt: skip
            yield Machines(client, self.memory_mb, self.memory_mb, cluster.scheduler_address)


@dataclass(frozen=True)
class Existing:
    """A scheduler that somebody started, with workers as large as they are."""

    address: str
    certificates: Certificates | None = None

    @contextmanager
    def opened(self) -> Iterator[Machines]:
        """Connected; scheduler and workers stay when the command ends."""
        security = None if self.certificates is None else self.certificates.security()
        try:
            client = Client(self.address, timeout=PATIENCE, security=security)
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            said = str(error).splitlines()[0][:150]
            raise InputError(
                f"no scheduler answers at {self.address} ({said}); start one by `dask scheduler`, "
                "or leave --scheduler out."
            ) from None
        with client:
            yield Machines(client, math.inf, None, self.address)


@dataclass(frozen=True)
class Jobs:
    """Workers as jobs of a queueing system, each as large as is asked for here."""

    queue: str
    workers: int
    threads: int
    memory_mb: float
    walltime: str
    interface: str
    partition: str | None = None
    account: str | None = None
    directives: tuple[str, ...] = ()
    certificates: Certificates | None = None

    @contextmanager
    def opened(self) -> Iterator[Machines]:
        """Jobs submitted; they are cancelled when the command ends."""
        with self.cluster() as cluster, Client(cluster, timeout=PATIENCE) as client:
            cluster.scale(jobs=self.workers)
            yield Machines(client, math.inf, None, cluster.scheduler_address)

    def cluster(self) -> Any:
        """dask-jobqueue's, of this kind."""
        kind, account = QUEUES[self.queue]
        security = None if self.certificates is None else self.certificates.security()
        named = {"queue": self.partition, account: self.account}
        return kind(
            cores=self.threads, processes=1, memory=f"{self.memory_mb:.0f}MB", walltime=self.walltime,
            job_extra_directives=list(self.directives),
            job_script_prologue=[f"export {name}={value}" for name, value in pools(self.threads).items()],
            scheduler_options={"interface": self.interface, "dashboard_address": f"{LOOPBACK}:0"},
            worker_extra_args=["--no-dashboard"], interface=self.interface, security=security,
            protocol="tcp://" if security is None else "tls://",
            **{name: value for name, value in named.items() if value is not None},
        )  # fmt: skip


def pools(threads: int) -> dict[str, str]:
    """The environment in which no library starts more threads than these."""
    return {name: str(threads) for name in POOLS}


@contextmanager
def _environment(names: Mapping[str, str]) -> Iterator[None]:
    """These while it lasts: workers inherit them, and dask's own way gives way to what was there before."""
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


Where: TypeAlias = Local | Existing | Jobs
