"""``python -m advmdp.cli``."""

import sys

from advmdp.cli import main

if __name__ == "__main__":
    sys.exit(main())
