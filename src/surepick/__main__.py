"""``python -m surepick``: the command ``surepick``."""

from surepick.cli import main

if __name__ == "__main__":
    main()
