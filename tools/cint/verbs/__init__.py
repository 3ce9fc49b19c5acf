# SPDX-License-Identifier: GPL-2.0-or-later
"""The verbs of ./cint, a module each: options, and the order in which the other packages work.

May import: base, build, device, figures, guest, manual, measure, options, results, selftest,
timeline.
"""
