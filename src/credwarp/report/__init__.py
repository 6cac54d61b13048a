"""What a run looks like to a person."""

from credwarp.report.planes import before_and_after

__all__ = ["before_and_after"]
