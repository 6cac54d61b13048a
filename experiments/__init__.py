"""Experiments that others published, run anew."""
