# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest: QEMU's command line, the process, the talk with the agent inside, the kinds of guest.

May import: base, build, device.
"""
