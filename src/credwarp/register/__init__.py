"""A pair and a plan in, a posterior over warps out; no files, no printing."""
