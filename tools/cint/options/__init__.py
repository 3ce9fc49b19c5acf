# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of the command line that several verbs share, and what they say.

May import: base, device, guest, measure.
"""
