"""Signed distances of the shapes that the head is drawn with."""

import numpy as np
import pytest

from credwarp.phantom.solids import along, common, ellipsoid, intersection, ramp, share, tube, union


@pytest.fixture
def places():
    return np.random.default_rng(0).uniform(-20, 20, (3, 500)).astype(np.float32)


def test_a_ball_has_its_exact_distance_however_it_is_turned(places):
    offset = places - np.array([1, 2, 3], np.float32)[:, None]
    expected = np.linalg.norm(offset, axis=0) - 7
    np.testing.assert_allclose(ellipsoid(places, (1, 2, 3), (7, 7, 7)), expected, atol=1e-4)
    np.testing.assert_allclose(ellipsoid(places, (1, 2, 3), (7, 7, 7), yaw=0.4), expected, atol=1e-4)


def test_yaw_turns_an_ellipsoid_so_that_its_back_moves_to_the_right():
    back_right = np.array([[3.0], [-8.0], [0.0]], np.float32)
    back_left = back_right * np.array([[-1], [1], [1]], np.float32)
    turned = [float(ellipsoid(p, (0, 0, 0), (4, 12, 4), yaw=0.35)[0]) for p in (back_right, back_left)]
    assert turned[0] < turned[1]


def test_a_tube_of_one_straight_piece_is_a_capsule(places):
    found = tube(places, ((-5, 0, 0, 2), (0, 0, 0, 2), (5, 0, 0, 2)))
    x, y, z = places
    expected = np.sqrt(np.maximum(np.abs(x) - 5, 0) ** 2 + y**2 + z**2) - 2
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_sheet_of_limited_depth_is_the_distance_to_a_corner_outside_it():
    a = np.array([3.0, -1.0, 3.0, -1.0], np.float32)
    b = np.array([4.0, 4.0, -2.0, -2.0], np.float32)
    np.testing.assert_allclose(common(a, b), [5, 4, 3, -1])


def test_union_and_intersection_are_exact_away_from_the_seam_and_rounded_at_it():
    a, b = np.array([1.0, 9.0, 2.0], np.float32), np.array([9.0, 1.0, 2.0], np.float32)
    np.testing.assert_allclose(union(a, b, 4), [1, 1, 1])
    np.testing.assert_allclose(intersection(a, b, 4), [9, 9, 3])


def test_a_cell_on_the_boundary_is_half_filled():
    np.testing.assert_allclose(share(np.array([-9.0, -0.5, 0.0, 0.5, 9.0]), 2.0), [1, 0.75, 0.5, 0.25, 0])


def test_ramps_and_knots_stay_between_their_ends():
    np.testing.assert_allclose(ramp(np.array([-1.0, 0.0, 1.0, 2.0, 3.0]), 0, 2), [0, 0, 0.5, 1, 1])
    np.testing.assert_allclose(along(np.array([-9.0, 0.5, 9.0]), ((0, 1), (1, 3))), [1, 2, 3])
