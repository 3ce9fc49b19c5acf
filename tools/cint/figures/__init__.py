# SPDX-License-Identifier: GPL-2.0-or-later
"""The papers' figures and tables: the runs they need, the claims they must show, their pages.

Figures are in the modules of ``library``. What was measured is in docs/figures.md.

May import: base, device, guest, measure, results, timeline.
"""
