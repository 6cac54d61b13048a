"""Maps of several runs beneath each other, as a picture."""

from collections.abc import Mapping

from credwarp.report.figures import picture
from credwarp.report.layers import LEAST_MM, Layer, Layers
from credwarp.report.views import View, upper_limit, window
from credwarp.shapes import Image
from credwarp.space import Grid


def differences(grid: Grid, fixed: Image, maps: Mapping[str, Image]) -> bytes:
    """A PNG: a row per map, all to one scale in mm, over the fixed image, in three middle planes."""
    mask = fixed > fixed.min()
    view = View.of(grid, mask)
    top = max(upper_limit(data, mask, LEAST_MM) for data in maps.values())
    each = {"fixed": Layer("fixed", "Fixed", "image", view.image(fixed, window(fixed, mask)), "")}
    for title, data in maps.items():
        seen = view.map(data, (0.0, top))
        each[title] = Layer(title, title, "map", seen, "", 0.0, top, unit="mm", colours="inferno")
    return picture(Layers(view, each), [("fixed", title) for title in maps])
