# SPDX-License-Identifier: GPL-2.0-or-later
"""vIC, Table 2: throughput of 4 KiB sequential reads."""

from cint.figures.tables import throughput

FIGURE = throughput(
    "vic-tab2", "Throughput of 4 KiB sequential reads", "section 4.1, Table 2",
    bs="4k", media="array",
    paper={8: 1.023, 16: 1.013, 32: 1.041, 64: 1.004})
