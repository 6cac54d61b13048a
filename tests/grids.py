"""Grids of every orientation, oblique and anisotropic, for property tests."""

import itertools

import numpy as np
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from credwarp.space import Grid

ORIENTATIONS = [
    (order, signs)
    for order in itertools.permutations(range(3))
    for signs in itertools.product((1.0, -1.0), repeat=3)
]


def grid(shape, spacing, orientation, angles=(0.0, 0.0, 0.0), origin=(3.0, -20.0, 11.0)) -> Grid:
    order, signs = orientation
    axes = np.zeros((3, 3))
    for axis, world in enumerate(order):
        axes[world, axis] = signs[axis]
    affine = np.eye(4)
    turn = Rotation.from_euler("xyz", angles, degrees=True).as_matrix()
    affine[:3, :3] = turn @ axes * np.array(spacing)
    affine[:3, 3] = origin
    return Grid(shape, affine)


sides = st.integers(5, 12)
lengths = st.floats(0.5, 5.0)
# No denormal angles: the singular value decomposition inside ITK fails on them.
angles = st.floats(-40.0, 40.0).map(lambda angle: round(angle, 6))
any_grid = st.builds(
    grid,
    st.tuples(sides, sides, sides),
    st.tuples(lengths, lengths, lengths),
    st.sampled_from(ORIENTATIONS),
    st.tuples(angles, angles, angles),
    st.tuples(angles, angles, angles),
)
