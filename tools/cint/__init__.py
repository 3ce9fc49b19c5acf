# SPDX-License-Identifier: GPL-2.0-or-later
"""cint: build, run and compare QEMU's NVMe controller with calibrated interrupts."""

__version__ = "0.1.0"
