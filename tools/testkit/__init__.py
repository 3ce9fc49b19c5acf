# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of several directories share, and nothing of the tool needs."""
