"""What a person sees while commands work, and what is refused before they start."""

import errno
import io
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from credwarp import cli
from credwarp.cli.console import listen, undone_at_the_end, working
from credwarp.files import write_itk, write_volume
from credwarp.space import Affine, Grid, Volume

log = logging.getLogger("credwarp")


class Terminal(io.StringIO):
    """A stream that says it is a person's."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _log_as_it_was() -> Iterator[None]:
    with undone_at_the_end():
        yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    grid = Grid.isotropic((10, 11, 12), 3.0)
    data = torch.from_numpy(np.exp(-((grid.points() / 9) ** 2).sum(-1))).float()
    for side in ("fixed", "moving"):
        write_volume(Volume(grid, data, side), tmp_path / f"{side}.nii.gz")
    write_itk(Affine.identity(), tmp_path / "nothing.tfm")
    return tmp_path


def command(*arguments: object) -> int:
    return cli.run([str(argument) for argument in arguments])


def test_a_command_leaves_the_log_as_it_was():
    before = (log.handlers, log.level, log.propagate)
    assert command("--quiet", "plan") == 0
    assert (log.handlers, log.level, log.propagate) == before


def test_a_terminal_shows_a_spinner_that_goes_and_warnings_that_stay(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    listen(quiet=False)
    with working("thinking …"):
        log.warning("this is odd.")
    shown = screen.getvalue()
    assert "thinking …" in shown
    assert "\x1b[2K" in shown  # the spinner's line is erased
    assert "\x1b[33mwarning: this is odd.\x1b[0m" in shown


def test_elsewhere_progress_and_warnings_are_plain_lines(capsys):
    listen(quiet=False)
    with working("thinking …"):
        log.warning("this is\n odd.")
    assert capsys.readouterr().err == "thinking …\nwarning: this is odd.\n"


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_quiet_means_errors_only(monkeypatch, stream):
    screen = stream()
    monkeypatch.setattr(sys, "stderr", screen)
    listen(quiet=True)
    with working("thinking …"):
        log.warning("this is odd.")
    assert screen.getvalue() == ""


def test_results_are_not_mixed_with_progress(folder, capsys):
    out = folder / "out.nii.gz"
    sides = (folder / "moving.nii.gz", "--grid", folder / "fixed.nii.gz")
    assert command("apply", folder / "nothing.tfm", *sides, "-o", out) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{out}\n"
    assert captured.err == "resampling …\n"


def test_without_a_command_the_help_alone_is_shown(capsys):
    assert command() == 2
    captured = capsys.readouterr()
    assert "Usage: credwarp" in captured.out + captured.err
    assert "credwarp: ;" not in captured.err


@pytest.mark.parametrize("name", ["a.xyz", "a.nii.gz", "missing/a.tfm", "fixed.nii.gz/a.tfm", ""])
def test_an_affine_that_could_not_be_written_is_not_even_sought(folder, name, capsys, monkeypatch):
    def sought(*_: object) -> None:
        raise AssertionError("the work was done before the door")

    monkeypatch.setattr("credwarp.affine.align", sought)
    images = (folder / "fixed.nii.gz", folder / "moving.nii.gz")
    assert command("affine", *images, "-o", folder / name) == 3
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_field_of_an_affine_needs_voxels_and_the_option_is_named(folder, capsys):
    out = folder / "field.nii.gz"
    assert command("export", folder / "nothing.tfm", "--format", "itk", "-o", out) == 2
    assert "--fixed" in capsys.readouterr().err
    assert not out.exists()


def test_a_demo_on_a_full_disk_leaves_no_folder_behind(tmp_path, capsys, monkeypatch):
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert command("--quiet", "demo", "-o", tmp_path / "run", "--size", 24) == 5
    assert "full" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_failed_demo_takes_nothing_from_a_folder_that_was_there(tmp_path, monkeypatch):
    def interrupted(*_: object, affine: Affine) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("credwarp.phantom.pair", interrupted)
    (tmp_path / "notes.txt").write_text("mine")
    assert command("--quiet", "demo", "-o", tmp_path, "--size", 24) == 130
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert command("--quiet", "demo", "-o", tmp_path / "run", "--size", 24) == 130
    assert not (tmp_path / "run").exists()
