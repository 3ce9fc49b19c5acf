# SPDX-License-Identifier: GPL-2.0-or-later
"""The papers' figures and tables as jobs, each with the claims it must show.

A job says what to boot and what to run; its ``check`` reads the points that
came out and returns what failed.  docs/figures.md has what was measured.

May import: base, device, guest, measure.
"""
