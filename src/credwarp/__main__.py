"""`python -m credwarp`: the same as the command."""

from credwarp.cli import main

if __name__ == "__main__":
    main()
