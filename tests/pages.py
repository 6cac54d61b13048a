"""The documentation's pages taken at their word: what stands in their blocks is run."""

import contextlib
import doctest
import io
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from credwarp import cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GENERATED = DOCS / "generated"
PAGES = sorted(p for p in DOCS.rglob("*.md") if not {"generated", "_build"} & set(p.relative_to(DOCS).parts))
FENCE = re.compile(r"^(?P<ticks>`{3,})(?:\{code-block\} *)?(?P<language>[\w{}-]*)")
ELLIPSIS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# A registration as the pages ask for it takes minutes; the same one with this little work takes seconds.
LITTLE = {
    "prealignment.kind": "header",
    "optimisation.levels": "[2,1]",
    "optimisation.rounds": "1",
    "optimisation.starts": "1",
    "optimiser.iterations": "3",
    "variational.iterations": "1",
    "metric.size": "60",
    "sampling.chains": "2",
    "sampling.draws": "8",
    "sampling.thin": "1",
    "sampling.warmup": "2",
}
REGISTERING = ("register", "demo", "batch")
TRAINING = {"architecture.channels": "[4,6]", "images": "4", "epochs": "2", "memory": "0.5"}
# What a page trains on and for how long, instead of what it says.
LEAST = {"--population": "4", "--size": "16", "--epochs": "3"}
# Too few draws do not converge, and say so by this code.
NOT_CONVERGED = 4
JUDGED = (*REGISTERING, "resume", "sample", "diagnose")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its caption if it has one, what it says, and the line it begins at."""

    language: str
    caption: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    found: list[Block] = []
    lines = page.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        opening = FENCE.match(lines[at])
        if opening is None:
            at += 1
            continue
        end = next(n for n in range(at + 1, len(lines)) if lines[n].strip() == opening["ticks"])
        inside = lines[at + 1 : end]
        caption = ""
        if inside and inside[0].startswith(":caption: "):
            caption = inside.pop(0).removeprefix(":caption: ")
        found.append(Block(opening["language"], caption, "\n".join(inside).strip("\n"), at + 1))
        at = end + 1
    return found


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console block, and what it is said to print."""
    joined = block.text.replace("\\\n", " ")
    for part in re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]:
        command, _, said = part.partition("\n")
        yield " ".join(command.split()), said.strip()


def run(command: str, folder: Path) -> str:
    """A command's output; `credwarp` is run in this process, with little work."""
    words = shlex.split(command, comments=True)
    if words[0] in ("make", "pip"):
        refuse_unknown(words)
        return ""
    if words[0] != "credwarp":
        done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout
    words, target = (words[: words.index(">")], words[-1]) if ">" in words else (words, None)
    words = [found for word in words for found in (sorted(glob(word, root_dir=folder)) or [word])]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.run(with_little_work(words[1:]))
    allowed = {0, NOT_CONVERGED} if words[1] in JUDGED else {0}
    assert code in allowed, f"{command}: exit code {code}: {err.getvalue()}"
    if target is not None:
        (folder / target).write_text(out.getvalue(), encoding="utf-8")
    return out.getvalue()


def with_little_work(words: list[str]) -> list[str]:
    """The same command, quickly."""
    if words[0] in REGISTERING:
        asked = {word.partition("=")[0] for word in words}
        given = {"--chains": "sampling.chains", "--init": "prealignment.kind"}
        asked |= {setting for option, setting in given.items() if option in words}
        less = [f"--set={name}={value}" for name, value in LITTLE.items() if name not in asked]
        words = [*words, *less, *(["--size", "24"] if words[0] == "demo" else [])]
    least = {"--draws": "12"}
    if words[0] == "train":
        least |= LEAST
        if "--resume" not in words:
            words = [*words, *(f"--set={name}={value}" for name, value in TRAINING.items())]
    return [least.get(before, word) for before, word in zip(["", *words[:-1]], words, strict=True)]


def refuse_unknown(words: list[str]) -> None:
    """What sets a machine up is not run here, but it has to exist."""
    if words[0] == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert set(words[1:]) <= set(targets), words
        return
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = re.findall(r"\[([\w,]+)\]", words[-1])
    assert set(",".join(wanted).split(",")) <= {"", *project["optional-dependencies"]}, words


def as_said(said: str, printed: str) -> bool:
    """Whether the output is what the page shows, `...` standing for anything."""
    return doctest.OutputChecker().check_output(said + "\n", printed + "\n", ELLIPSIS)
