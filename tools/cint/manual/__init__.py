# SPDX-License-Identifier: GPL-2.0-or-later
"""The manual: the command line as data, the manual page, completion, what the documents say.

May import: base, build, device, figures, guest, measure, selftest.
"""
