# SPDX-License-Identifier: GPL-2.0-or-later
"""The `nvme` device as cint sees it: policies and media as properties, the CPU scale, the log page.

May import: base.
"""
