"""Tables of pairs: what spreadsheets write is read, what makes no sense is told, none leaves its folder."""

import os
import random
from pathlib import Path

import pytest

from cohorts import cohort, without_dask
from credwarp import cli
from credwarp.batch.checks import Choices
from credwarp.batch.places import Roots, folder_name, inside, refuse_links
from credwarp.batch.run import Source
from credwarp.batch.tables import read_rows
from credwarp.errors import InputError
from credwarp.plan import Plan


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("tables")
    cohort(place, 3, labels=True)
    (place / "plan.toml").write_text("seed = 5\n", encoding="utf-8")
    (place / "wrong.toml").write_text("sede = 5\n", encoding="utf-8")
    (place / "points.csv").write_text("# CoordinateSystem = RAS\nname,x,y,z\na,4,4,4\n", encoding="utf-8")
    (place / "empty.nii.gz").write_bytes(b"")
    (place / "noise.nii.gz").write_bytes(b"no image at all")
    outside = place.parent / "elsewhere"
    outside.mkdir(exist_ok=True)
    (outside / "secret.nii.gz").write_bytes((place / "s0.nii.gz").read_bytes())
    (place / "link.nii.gz").symlink_to(outside / "secret.nii.gz")
    return place


def checked(folder: Path, text: str | bytes, bids: bool = False, roots=()):
    table = folder / "given.csv"
    table.write_bytes(text if isinstance(text, bytes) else text.encode())
    choices = Choices(Plan(), (), Roots.of(folder, roots), bids)
    return Source(table).checked(choices)


GOOD = "fixed,moving,id\ns0.nii.gz,s1.nii.gz,a\ns0.nii.gz,s2.nii.gz,b\n"


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\r"),
        GOOD.replace(",", "\t"),
        GOOD.replace(",", ";"),
        GOOD.replace("fixed,moving,id", '"Fixed", Moving ,ID'),
        "\n\n" + GOOD + "\n,,\n",
        GOOD.replace("s1.nii.gz", '"s1.nii.gz"'),
        GOOD.replace("s1.nii.gz", "./s1.nii.gz"),
    ],
    ids=["plain", "BOM", "CRLF", "CR", "tabs", "semicolons", "capitals", "blank lines", "quotes", "dot"],
)
def test_a_table_is_the_same_however_it_was_saved(folder, text):
    good, problems = checked(folder, text)
    assert problems == []
    assert [(case.name, case.folder, case.moving.image.name) for case in good] == [
        ("a", "a", "s1.nii.gz"),
        ("b", "b", "s2.nii.gz"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "is empty"),
        ("fixed,moving\n", "no rows"),
        ("fixed,id\ns0.nii.gz,a\n", "no column moving"),
        ("s0.nii.gz,s1.nii.gz\n", "names of columns"),
        ("fixed,moving,fixed_label\n", "did you mean fixed_labels"),
        ("fixed,moving,fixed\n", "twice"),
        (GOOD.encode("utf-16"), "UTF-8"),
        ("fixed,moving,id\ns0.nii.gz,s1.nii.gz,Zo\xeb\n".encode("latin-1"), "byte 39 is 0xeb"),
        (b"fixed,moving\ns0\0,s1\n", "zero bytes"),
        ('fixed,moving\n"s0,s1\n', "quotes"),
        ("fixed,moving\n" + "s" * 70_000 + ",b\n", "no table from line"),
    ],
)
def test_a_table_that_makes_no_sense_is_one_sentence(folder, text, said):
    with pytest.raises(InputError, match=said):
        checked(folder, text)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("../elsewhere/secret.nii.gz,s1.nii.gz,a,", "not in the table's folder"),
        ("/etc/passwd,s1.nii.gz,a,", "--root"),
        ("link.nii.gz,s1.nii.gz,a,", "not in the table's folder"),
        ("s9.nii.gz,s1.nii.gz,a,", "cannot be read"),
        (",s1.nii.gz,a,", "no fixed image"),
        ("empty.nii.gz,s1.nii.gz,a,", "empty"),
        ("noise.nii.gz,s1.nii.gz,a,", "gzip"),
        ("points.csv,s1.nii.gz,a,", "ends in none of"),
        ("s0.nii.gz,s1.nii.gz,...,", "no name for a folder"),
        ("s0.nii.gz,s1.nii.gz,cohort.csv,", "no name for a folder"),
        ("s0.nii.gz,s1.nii.gz,a,wrong.toml", "seed"),
        ("s0.nii.gz,s1.nii.gz,a,../../etc/plan.toml", "not in the table's folder"),
        ("s0.nii.gz,s1.nii.gz,a", "3 cells for 4 columns"),
        ("s0.nii.gz;s1.nii.gz;a;", "separate them by commas"),
        ("s" * 4000 + ",s1.nii.gz,a,", "cannot be read"),
    ],
)
def test_a_row_that_cannot_be_used_is_named_with_its_line(folder, row, said):
    good, problems = checked(folder, f"fixed,moving,id,plan\ns0.nii.gz,s3.nii.gz,fine,\n{row}\n")
    assert [case.name for case in good] == ["fine"]
    assert [problem.where for problem in problems] == ["line 3"]
    assert said in problems[0].sentence
    assert len(problems[0].sentence) < 600


def test_all_that_is_wrong_is_told_at_once(folder):
    text = "fixed,moving,id,plan\nx.nii.gz,y.nii.gz,a,wrong.toml\n\ns0.nii.gz,z.nii.gz,a,\n"
    good, problems = checked(folder, text)
    assert good == []
    assert [problem.where for problem in problems] == ["line 2"] * 3 + ["line 4"] * 2


def test_what_the_user_names_may_be_pointed_into(folder):
    text = "fixed,moving,id\n../elsewhere/secret.nii.gz,link.nii.gz,a\n"
    good, problems = checked(folder, text, roots=[folder.parent / "elsewhere"])
    assert problems == []
    assert good[0].moving.image == folder / "link.nii.gz"


def test_ids_become_folders_that_nobody_else_has(folder):
    rows = [
        "s0.nii.gz,s1.nii.gz," + name
        for name in ("<script>alert(1)</script>", "../../etc/x", "é", "n" * 4000)
    ]
    good, problems = checked(folder, "fixed,moving,id\n" + "\n".join(rows) + "\n")
    assert problems == []
    assert [case.folder for case in good[:3]] == ["script-alert-1---script", "etc-x", "é"]
    assert len(good[3].folder) <= 100
    twice = "fixed,moving,id\ns0.nii.gz,s1.nii.gz,A b\ns0.nii.gz,s1.nii.gz,a-b\ns0.nii.gz,s1.nii.gz,A b\n"
    good, problems = checked(folder, twice)
    assert [case.name for case in good] == ["A b"]
    assert [problem.where for problem in problems] == ["line 3", "line 4"]


def test_rows_without_id_are_called_after_their_files_and_keep_their_names(folder):
    text = "fixed,moving\ns0.nii.gz,s1.nii.gz\n./s0.nii.gz,s1.nii.gz\n"
    names = [case.folder for case in checked(folder, text)[0]]
    assert names[0] == "s1_to_s0"
    assert names[1].startswith("s1_to_s0-")
    more = [case.folder for case in checked(folder, text + "s0.nii.gz,s2.nii.gz\n")[0]]
    assert more[:2] == names


def test_nothing_is_written_through_links(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").symlink_to(tmp_path)
    for name in ("a", "a/b", "../x"):
        with pytest.raises(InputError):
            inside(tmp_path / "out", name)
    (tmp_path / "run" / "maps").mkdir(parents=True)
    refuse_links(tmp_path / "run")
    (tmp_path / "run" / "maps" / "warped.nii.gz").symlink_to(tmp_path / "victim")
    with pytest.raises(InputError, match="symbolic link"):
        refuse_links(tmp_path / "run")


def test_a_folders_name_is_cut_between_letters():
    assert len(folder_name("ü" * 300).encode()) <= 100


def bids(tmp_path: Path, folder: Path, sessions=(1, 2)) -> Path:
    root = tmp_path / "derivatives"
    for subject in ("01", "02"):
        for session in sessions:
            place = root / f"sub-{subject}" / f"ses-{session}" / "anat"
            place.mkdir(parents=True)
            stem = f"sub-{subject}_ses-{session}"
            for end, source in (
                ("desc-preproc_T1w", "s1"),
                ("desc-brain_mask", "l1"),
                ("dseg", "l1"),
                ("T2w", "s1"),
            ):
                (place / f"{stem}_{end}.nii.gz").write_bytes((folder / f"{source}.nii.gz").read_bytes())
    return root


def test_a_bids_folder_is_a_table_of_sessions_or_of_everybody_onto_one(tmp_path, folder):
    root = bids(tmp_path, folder)
    choices = Choices(Plan(), (), Roots.of(root, [folder]), bids=True)
    good, problems = Source(root, "desc-preproc_T1w").checked(choices)
    assert problems == []
    assert [case.folder for case in good] == [
        "sub-01/ses-2/sub-01_ses-2_to-1",
        "sub-02/ses-2/sub-02_ses-2_to-1",
    ]
    assert good[0].fixed.image.name == "sub-01_ses-1_desc-preproc_T1w.nii.gz"
    assert good[0].moving.mask.name == "sub-01_ses-2_desc-brain_mask.nii.gz"
    assert good[0].fixed.labels.name == "sub-01_ses-1_dseg.nii.gz"
    good, problems = Source(root, "T2w", folder / "s0.nii.gz").checked(choices)
    assert problems == []
    assert len(good) == 4
    assert good[0].folder == "sub-01/ses-1/sub-01_ses-1_to-s0"
    with pytest.raises(InputError, match="another --suffix"):
        Source(root, "FLAIR").checked(choices)
    (tmp_path / "once").mkdir()
    with pytest.raises(InputError, match="--fixed"):
        Source(bids(tmp_path / "once", folder, (1,)), "T2w").checked(choices)


def test_bids_names_need_a_subject(folder):
    good, problems = checked(folder, GOOD, bids=True)
    assert good == []
    assert "sub- entity" in problems[0].sentence


CELLS = [
    "s0.nii.gz", "s1.nii.gz", "l1.nii.gz", "points.csv", "plan.toml", "wrong.toml", "", " ", "../../etc/x",
    "/etc/passwd", "link.nii.gz", "<script>alert(1)</script>", "a" * 4096, "\x1b[31mred", "-rf", "~", "$HOME",
    "`id`", "a\tb", "a;b", '"', "'", "é", "\u202ex", "NUL", "con", ".", "..", "noise.nii.gz", "empty.nii.gz",
    ".ssh/id", "a/b", "\\\\host\\x",
]  # fmt: skip
NAMES = ["fixed", "moving", "id", "plan", "landmarks", "fixed_mask", "moving_labels", "Fixed ", "age", ""]


def hostile(chance: random.Random) -> bytes:
    """A table made by somebody who means no good, or by a broken program; a third is odd in ids alone."""
    if chance.random() < 0.35:
        mark, ids = chance.choice(",\t;"), chance.sample(CELLS, k=2)
        rows = [mark.join(("s0.nii.gz", "s1.nii.gz", name)) for name in ids]
        end = chance.choice(["\n", "\r\n"])
        text = end.join((mark.join(("fixed", "moving", "id")), *rows))
        return text.encode(chance.choice(["utf-8", "utf-8-sig"]))
    mark, end = chance.choice(",\t;|"), chance.choice(["\n", "\r\n", "\r"])
    header = NAMES[:3] if chance.random() < 0.6 else chance.choices(NAMES, k=chance.randint(0, 6))
    widths = [chance.choice([len(header), len(header), 2, 8]) for _ in range(chance.randint(0, 5))]
    rows = [header, *(chance.choices(CELLS, k=width) for width in widths)]
    text = end.join(chance.choice([mark, mark, ","]).join(row) for row in rows) + end
    content = text.encode(chance.choice(["utf-8", "utf-8-sig", "utf-16"]))
    for _ in range(chance.choice([0, 0, 3])):
        place = chance.randrange(len(content) + 1)
        content = content[:place] + bytes([chance.randrange(256)]) + content[place + 1 :]
    return content


def test_three_hundred_hostile_tables_give_sentences_and_write_nothing_elsewhere(
    folder, tmp_path, monkeypatch, capsys
):
    def step(task, case, place, watch):
        (place / "report.html").write_text("done")
        return {"status": "done", "code": 0, "sentence": "", "figures": {"light": "green"}}

    without_dask(monkeypatch)
    monkeypatch.setattr("credwarp.batch.work._step", step)
    chance, codes = random.Random(8), []
    for number in range(300):
        table = folder / "hostile.csv"
        table.write_bytes(hostile(chance))
        before = everything(folder, folder.parent / "elsewhere")
        out = tmp_path / "outs" / str(number)
        codes.append(cli.run(["--quiet", "batch", str(table), "-o", str(out)]))
        said = capsys.readouterr()
        assert "Traceback" not in said.err + said.out
        assert "defect" not in said.err + said.out
        assert all(c.isprintable() or c == "\n" for c in said.err + said.out)
        assert everything(folder, folder.parent / "elsewhere") == before
        assert not [
            path for path in out.rglob("*") if path.is_symlink() or not path.resolve().is_relative_to(out)
        ]
    assert set(codes) == {0, 3}
    assert codes.count(0) > 20
    assert os.listdir(tmp_path) == ["outs"]


def everything(*places: Path) -> set[tuple[str, int]]:
    return {(str(path), path.lstat().st_mtime_ns) for place in places for path in place.rglob("*")}


def test_a_table_is_read_from_its_lines(folder):
    (folder / "given.csv").write_text('fixed,moving\n"a\nb",c\nd,e\n', encoding="utf-8")
    rows, problems = read_rows(folder / "given.csv")
    assert [row.where for row in rows] == ["line 3", "line 4"]
    assert problems == []
