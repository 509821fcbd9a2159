"""``python -m advmdp``: the command without its script on the path."""

import sys

from advmdp.cli import main

if __name__ == "__main__":
    sys.exit(main())
