"""Points are read in the frame their file states and written in it, with their ellipsoids."""

import csv
import json

import numpy as np
import pytest

from credwarp.errors import InputError
from credwarp.files import Ellipsoids, NamedPoints, read_points, write_points

RAS = np.array([[1.0, 2.0, 3.0], [-4.0, 5.0, -6.5]])
LPS = RAS * [-1, -1, 1]


def ellipsoids():
    factor = np.random.default_rng(0).normal(size=(2, 3, 3))
    return Ellipsoids(RAS, factor @ factor.transpose(0, 2, 1), np.array([3.0, 4.5]))


def table(points, columns, remark=""):
    rows = "\n".join(",".join(["p", *map(str, row)]) for row in points.tolist())
    return f"{remark}{columns}\n{rows}\n"


TABLES = {
    "a remark": table(RAS, "name,x,y,z", "# CoordinateSystem = RAS\n"),
    "a remark of the other frame": table(LPS, "name,x,y,z", "# LPS\n"),
    "a remark with a number": table(LPS, "name,x,y,z", "#  CoordinateSystem = 1\n"),
    "columns": table(RAS, "label,R,A,S"),
    "columns of the other frame": table(LPS, "label,l,p,s"),
    "Slicer's older format": "# Markups fiducial file version = 4.11\n# CoordinateSystem = LPS\n"
    "# columns = id,x,y,z,ow,ox,oy,oz,vis,sel,lock,label,desc,associatedNodeID\n"
    + "\n".join(f"{i},{x},{y},{z},0,0,0,1,1,1,0,p,," for i, (x, y, z) in enumerate(LPS.tolist())),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_says_its_frame_by(tmp_path, name):
    path = tmp_path / "points.csv"
    path.write_text(TABLES[name])
    found = read_points(path)
    assert np.array_equal(found.positions, RAS)
    assert found.names == ("p", "p")


@pytest.mark.parametrize("frame", ["RAS", "LPS"])
def test_slicers_markups_are_read(tmp_path, frame):
    places = RAS if frame == "RAS" else LPS
    points = [{"label": "a", "position": place} for place in places.tolist()]
    points.append({"label": "b", "position": [0, 0, 0], "positionStatus": "undefined"})
    path = tmp_path / "points.mrk.json"
    path.write_text(json.dumps({"markups": [{"coordinateSystem": frame, "controlPoints": points}]}))
    found = read_points(path)
    assert np.array_equal(found.positions, RAS)
    assert found.frame == frame


@pytest.mark.parametrize("name", ["out.csv", "out.mrk.json"])
@pytest.mark.parametrize("frame", ["RAS", "LPS"])
def test_what_is_written_is_read_in_its_frame(tmp_path, name, frame):
    write_points(tmp_path / name, NamedPoints(("a", "b"), RAS, frame), ellipsoids(), "points of moving")
    found = read_points(tmp_path / name)
    assert np.allclose(found.positions, RAS)
    assert found.frame == frame
    assert found.names == ("a", "b")


@pytest.mark.parametrize("frame", ["RAS", "LPS"])
def test_a_table_has_covariances_along_its_axes(tmp_path, frame):
    path, found = tmp_path / "out.csv", ellipsoids()
    write_points(path, NamedPoints(("a", "b"), RAS, frame), found, "points of moving")
    lines = path.read_text().splitlines()
    assert lines[0] == f"# CoordinateSystem = {frame}"
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    sign = 1 if frame == "RAS" else -1
    for row, matrix, radius in zip(rows, found.covariance, found.radius95, strict=True):
        assert float(row["xy"]) == pytest.approx(matrix[0, 1], rel=1e-5)
        assert float(row["xz"]) == pytest.approx(sign * matrix[0, 2], rel=1e-5)
        assert float(row["radius95"]) == radius


def test_markups_carry_the_ellipsoids(tmp_path):
    path, found = tmp_path / "out.mrk.json", ellipsoids()
    write_points(path, NamedPoints(("a", "b"), RAS, "LPS"), found, "points of moving")
    (markup,) = json.loads(path.read_text())["markups"]
    values = {each["name"]: each["controlPointValues"] for each in markup["measurements"]}
    flip = np.diag([-1, -1, 1])
    for index, point in enumerate(markup["controlPoints"]):
        axes = np.array(point["orientation"]).reshape(3, 3)
        halves = np.array([values[f"ellipsoid95 half axis {axis}"][index] for axis in (1, 2, 3)])
        assert np.linalg.det(axes) == pytest.approx(1.0)
        assert list(halves) == sorted(halves, reverse=True)
        again = axes @ np.diag(halves**2 / 7.814727903251179) @ axes.T
        assert np.allclose(again, flip @ found.covariance[index] @ flip)
        assert values["covariance xz"][index] == pytest.approx(-found.covariance[index, 0, 2])


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("p.csv", "name,x,y,z\na,1,2,3\n", "does not say whether its points are RAS or LPS"),
        ("p.csv", "# RAS\nname,east,north\na,1,2\n", "has no columns x, y, z"),
        ("p.csv", "# RAS\nname,x,y,z\na,1,2,three\n", "not a readable list of points"),
        ("p.csv", "# RAS\nname,x,y,z\na,1,2\n", "not a readable list of points"),
        ("p.csv", "# RAS\nname,x,y,z\n", "has no points"),
        ("p.csv", "# RAS\nname,x,y,z\na,1,2,nan\n", "has no points, or one that is no number"),
        ("p.mrk.json", "{", "not a readable list of points"),
        ("p.mrk.json", '{"markups": [{"coordinateSystem": "XYZ"}]}', "not a readable list of points"),
        ("p.xlsx", "PK", "ends in none of"),
        ("p.csv", "", "is empty"),
    ],
)
def test_a_file_without_points_is_one_sentence(tmp_path, name, content, sentence):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=sentence) as caught:
        read_points(tmp_path / name)
    assert "\n" not in str(caught.value)
