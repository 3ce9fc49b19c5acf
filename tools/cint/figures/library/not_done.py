# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures of the papers that are not here, and why."""

from cint.figures.model import NotDone

NOT_DONE = (
    NotDone("lm-410", "vault", "direct I/O of Linux 4.9 and 4.10",
            "compares two kernels' ways of direct I/O, both long gone"),
    NotDone("blk-fig12", "blk-switch", "more than 100 Gb/s", "needs two networks of that speed"),
)
