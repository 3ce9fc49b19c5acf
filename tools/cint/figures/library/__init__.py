# SPDX-License-Identifier: GPL-2.0-or-later
"""The papers' figures, a module each; a new one is found by being here."""
