# SPDX-License-Identifier: GPL-2.0-or-later
"""The verbs of ./cint, a module each: options, and the order in which the other packages work.

Of each `declare(parser)` says what the verb does and takes, and `run(args)` does it and gives the
exit code; it may raise any :class:`CintError`.

May import: base, build, device, figures, guest, manual, measure, options, results, selftest,
timeline.
"""
