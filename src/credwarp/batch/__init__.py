"""Many pairs on dask: a table checked whole, nothing lost, nothing done twice.

Nothing is imported here: a dask scheduler imports this package when it is told of a task.
"""
