# SPDX-License-Identifier: GPL-2.0-or-later
"""vIC, Table 3: CPU time of 4 KiB sequential reads."""

from cint.figures.tables import cost

FIGURE = cost(
    "vic-tab3", "CPU time of 4 KiB sequential reads", "section 4.1, Table 3",
    bs="4k", media="array", paper={8: 0.981, 16: 0.972, 32: 0.965, 64: 0.816})
