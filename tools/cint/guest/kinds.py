# SPDX-License-Identifier: GPL-2.0-or-later
"""The kinds of guest: with our kernel, or with the distribution's own, as it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cint import paths
from cint.build import distro
from cint.guest import hints, vm

#: What --guest takes.
GUESTS = ("cint", "distro")
#: Our kernel with a Debian of packages by name on the device: what `./cint run` takes, too.
DEBIAN = "debian"
#: Seconds a boot may take; it takes three to five times as long as that of our kernel.
BOOT_LIMIT_S = 300.0
#: Options in place of ours, which only our kernel knows.
CMDLINE_VIRTUAL = paths.KERNEL_CONFIG / "cmdline.distro.virtual"


def _more(who: str, disk: bool) -> bool:
    """Whether a guest of the distribution's needs more of its modules than those for a drive."""
    return disk or who == hints.MODULE


def dress(machine: vm.Machine, guest: str, who: str = hints.OFF, *,
          disk: bool = False, agrees: bool = False) -> vm.Machine:
    """The machine with the kernel and image of `guest`, one of GUESTS.

    ``who`` gives hints there, a word of cint.guest.hints; ``disk``: its root is a file system on
    the drive, for which the distribution's kernel needs modules. ``agrees``: its fio ends runs when
    blocks of them agree, which only our kernel's own image has.
    """
    preloads = hints.rules_of(who) is not None
    if guest != "distro":
        return (replace(machine, initramfs=paths.PRELOAD_INITRAMFS) if preloads else
                replace(machine, initramfs=paths.AGREE_INITRAMFS) if agrees else machine)
    # In virtual time calibrating the APIC timer costs the host about 4 s, and our option that
    # spares it is unknown to this kernel.  This one would take high resolution timers away
    # from several vCPUs, so they wait.
    timer = ("nolapic_timer",) if machine.virtual and machine.vcpus == 1 else ()
    initramfs = (paths.DISTRO_PRELOAD_INITRAMFS if preloads else paths.DISTRO_HINTS_INITRAMFS
                 if _more(who, disk) else paths.DISTRO_INITRAMFS)
    return replace(machine, kernel=paths.DISTRO_KERNEL, initramfs=initramfs,
                   cmdline_virtual=CMDLINE_VIRTUAL, append=(*timer, *machine.append))


def targets(guest: str, who: Iterable[str] = (), *, disk: bool = False,
            agrees: bool = False) -> tuple[str, ...]:
    """The targets of setup.ensure() for `guest`, where these give hints; the rest as above."""
    words = list(who) or [hints.OFF]
    preloads = any(hints.rules_of(word) for word in words)
    if guest != "distro":
        return ("qemu", "linux", "image", *(("preload",) if preloads else ()),
                *(("agree",) if agrees else ()))
    more = any(_more(word, disk) for word in words)
    return ("qemu", "image", "distro", *(("distro-hints",) if more else ()),
            *(("distro-preload",) if preloads else ()))


def note() -> str:
    """The note on this guest beside results."""
    return f"guest: the distribution's own kernel, {distro.package()}, not patched"
