# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trace of the device tells: its events, each command's times, a summary, a timeline.

May import: base, build, device.
"""
