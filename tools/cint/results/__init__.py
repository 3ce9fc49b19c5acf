# SPDX-License-Identifier: GPL-2.0-or-later
"""Results of a measurement, kept and shown: results.json, tables, drawings, the page.

May import: base, device, guest, measure.
"""
