# SPDX-License-Identifier: GPL-2.0-or-later
"""What is kept and shown of a measurement: results.json, tables, drawings, the page.

May import: base, device, guest, measure.
"""
