# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces of the device: their events, each command's times, a summary, a timeline.

May import: base, build, device.
"""
