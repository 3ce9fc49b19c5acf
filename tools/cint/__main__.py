# SPDX-License-Identifier: GPL-2.0-or-later
"""Entry point of `python -m cint`, which is what the launcher ./cint runs."""

import sys

from cint.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
