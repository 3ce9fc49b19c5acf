# SPDX-License-Identifier: GPL-2.0-or-later
"""vIC, Table 4: throughput of 8 KiB sequential reads."""

from cint.figures.arrays import ARRAY_8K
from cint.figures.tables import CLOSED_LOOP, throughput

FIGURE = throughput(
    "vic-tab4", "Throughput of 8 KiB sequential reads", "section 4.1, Table 4",
    bs="8k", media=ARRAY_8K, deviations={8: CLOSED_LOOP},
    paper={8: 1.043, 16: 1.021, 32: 1.01, 64: 1.01})
