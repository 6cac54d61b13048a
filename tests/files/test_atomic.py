"""The old file or the new one, never half of either, and nothing left lying about."""

import errno
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from credwarp.errors import BudgetError, InputError
from credwarp.files import replacing, write_bytes, write_text
from credwarp.files.atomic import ALMOST_FULL


def only(folder, name, content):
    return [path.name for path in folder.iterdir()] == [name] and (folder / name).read_text() == content


def test_what_was_written_is_there_at_the_end_and_not_before(tmp_path):
    path = tmp_path / "map.nii.gz"
    write_text(path, "old")
    with replacing(path) as new:
        assert new.parent == tmp_path
        assert new.name.endswith(".nii.gz")
        new.write_text("new")
        assert path.read_text() == "old"
    assert only(tmp_path, "map.nii.gz", "new")


def half_written(path, failure, size=0):
    with replacing(path, size) as new:
        new.write_text("half")
        raise failure


@pytest.mark.parametrize("failure", [ValueError("bug"), KeyboardInterrupt(), InputError("sentence.")])
def test_a_failure_inside_keeps_the_old_file_and_is_not_renamed(tmp_path, failure):
    write_text(tmp_path / "a.txt", "old")
    with pytest.raises(type(failure)):
        half_written(tmp_path / "a.txt", failure)
    assert only(tmp_path, "a.txt", "old")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
@pytest.mark.parametrize("moment", ["write", "fsync", "replace"])
def test_a_full_disk_is_a_budget_in_one_sentence(tmp_path, monkeypatch, number, moment):
    write_text(tmp_path / "a.txt", "old")

    def full(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(*((Path, "write_bytes") if moment == "write" else (os, moment)), full)
    with pytest.raises(BudgetError, match="its disk or quota is full; make room") as caught:
        write_text(tmp_path / "a.txt", "new")
    monkeypatch.undo()
    assert caught.value.exit_code == 5
    assert "\n" not in str(caught.value)
    assert only(tmp_path, "a.txt", "old")


def test_a_library_that_hides_why_is_not_believed_when_the_disk_is_full(tmp_path, monkeypatch):
    failure = RuntimeError("ITK ERROR:\nH5Dwrite failed")
    with pytest.raises(InputError, match=r"cannot be written \(H5Dwrite failed\)"):
        half_written(tmp_path / "a.txt", failure)
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": ALMOST_FULL - 1}))
    with pytest.raises(BudgetError, match="disk or quota is full"):
        half_written(tmp_path / "a.txt", failure)


def test_a_file_that_will_not_fit_is_refused_before_it_is_begun(tmp_path):
    with pytest.raises(BudgetError, match="MB and its disk has .* MB left; make room"):
        half_written(tmp_path / "a.txt", AssertionError("it began"), 10**18)


def test_a_missing_folder_a_folder_and_a_read_only_folder_get_a_sentence(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="is not a folder; make it first"):
        write_bytes(tmp_path / "none" / "a.txt", b"")
    with pytest.raises(InputError, match="it is a folder; give the name of a file"):
        write_bytes(tmp_path, b"")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(InputError, match="is read-only for this user; choose another"):
        write_bytes(tmp_path / "a.txt", b"")
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_leaves_the_old_file_whole(tmp_path):
    write_text(tmp_path / "a.txt", "old")
    script = f"""
        import os, signal
        from pathlib import Path
        from credwarp.files.atomic import replacing
        with replacing(Path({str(tmp_path / "a.txt")!r})) as new:
            new.write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    assert ended.returncode == -9
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "real").mkdir()
    write_text(tmp_path / "real" / "a.txt", "old")
    (tmp_path / "a.txt").symlink_to(tmp_path / "real" / "a.txt")
    write_text(tmp_path / "a.txt", "new")
    assert (tmp_path / "a.txt").is_symlink()
    assert only(tmp_path / "real", "a.txt", "new")


def test_every_writer_says_that_the_disk_is_full_and_leaves_nothing(tmp_path):
    """In a process whose files may not grow beyond 20 kB, which the system refuses like a full disk."""
    script = f"""
        import resource, signal
        from pathlib import Path
        import torch
        from credwarp import files
        from credwarp.errors import CredwarpError
        from credwarp.space import Affine, Grid, Volume, Warp

        grid = Grid.isotropic((30, 30, 30))
        volume = Volume(grid, torch.randn(grid.shape))
        warp = Warp(grid, torch.randn(3, *grid.shape), Affine.identity(), Affine.identity())
        folder = Path({str(tmp_path)!r})
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        images, maps = "a.nii a.nii.gz a.nrrd a.mha a.mgz", "b.h5 b.nii.gz b.x5 b.fsl.nii.gz"
        for name in (images + " " + maps).split():
            try:
                if name[0] == "a":
                    files.write_volume(volume, folder / name)
                elif name.endswith("fsl.nii.gz"):
                    files.write_fsl(warp, grid, grid, folder / name)
                else:
                    (files.write_x5 if name.endswith("x5") else files.write_itk)(warp, folder / name)
                print(name, "written")
            except CredwarpError as error:
                print(name, type(error).__name__, "one line" if "\\n" not in str(error) else "many")
        print(sorted(path.name for path in folder.iterdir()))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, encoding="utf-8", check=True
    )
    *outcomes, left = done.stdout.splitlines()
    assert left == "[]"
    for outcome in outcomes:
        name = outcome.split()[0]
        # SimpleITK does not say why, and this disk has room.
        expected = "InputError" if Path(name).suffix in (".nrrd", ".mha") else "BudgetError"
        assert outcome == f"{name} {expected} one line"
