"""How the documentation is built."""

import importlib.metadata

project = "credwarp"
author = "The credwarp developers"
copyright = "2026, the credwarp developers"
release = importlib.metadata.version("credwarp")

extensions = ["myst_parser", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "credwarp"
nitpicky = True
