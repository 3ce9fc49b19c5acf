# SPDX-License-Identifier: GPL-2.0-or-later
"""Measuring: jobs and settings, the runs, and the numbers that came of them.

May import: base, device, guest.
"""
