"""Measurements: ratios within one run, memory beside time."""
