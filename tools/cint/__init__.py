# SPDX-License-Identifier: GPL-2.0-or-later
"""cint: build, run and compare QEMU's NVMe controller with calibrated interrupts.

The modules right here are the base: errors, paths, what a person sees, steps, the host. They
import only each other; `cli` loads the verbs by name. Each package says in its docstring what it
holds and which others it may import.
"""

__version__ = "0.1.0"
