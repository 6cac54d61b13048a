"""Run all benchmarks, or those named: python -m benchmarks [NAME …]."""

import importlib
import sys

NAMES = ("kernels", "gradient", "summaries", "mixing", "metrics", "choices", "studies")

for name in sys.argv[1:] or NAMES:
    importlib.import_module(f"benchmarks.{name}").main()
