# SPDX-License-Identifier: GPL-2.0-or-later
"""vIC, Table 5: CPU time of 8 KiB sequential reads."""

from cint.figures.arrays import ARRAY_8K
from cint.figures.tables import cost

FIGURE = cost(
    "vic-tab5", "CPU time of 8 KiB sequential reads", "section 4.1, Table 5",
    bs="8k", media=ARRAY_8K, paper={8: 0.948, 16: 0.955, 32: 0.985, 64: 0.938})
