# SPDX-License-Identifier: GPL-2.0-or-later
"""How `cint test` runs its suites, and the checks that are more than a program's exit code.

May import: base, build.
"""
