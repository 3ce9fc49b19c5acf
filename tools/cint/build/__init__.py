# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything that is got, patched and built before a guest can boot or a test can run.

May import: base.
"""
