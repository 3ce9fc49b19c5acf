# SPDX-License-Identifier: GPL-2.0-or-later
"""The hints module as a package that DKMS builds for each kernel of a machine."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from cint import ask, paths
from cint.build import hints
from cint.errors import CintError

#: The module's name for DKMS; that of the package has -dkms behind it.
NAME = "cint-hints"
_CONTROL = """\
Package: {name}-dkms
Version: {version}
Architecture: all
Maintainer: cint developers <cint@example.org>
Depends: dkms
Section: kernel
Priority: optional
Description: interrupt hints for NVMe controllers that take them
 A kernel module that tells an emulated NVMe controller with cint=on which commands somebody waits
 for. DKMS builds it for each kernel whose headers are installed. Controllers that have not said
 that they take hints are left alone.
"""
_POSTINST = """\
#!/bin/sh
set -e
[ "$1" = configure ] || exit 0
dkms add -m {name} -v {version} || true
for tree in /lib/modules/*/build; do
    [ -e "$tree" ] || continue
    kernel=${{tree%/build}}
    dkms install -m {name} -v {version} -k "${{kernel##*/}}" ||
        echo "{name}: not built for ${{kernel##*/}}" >&2
done
modprobe cint_hints || echo "{name}: not loaded; dmesg says why" >&2
"""
_PRERM = """\
#!/bin/sh
set -e
[ "$1" = remove ] || [ "$1" = upgrade ] || exit 0
rmmod cint_hints 2>/dev/null || true
dkms remove -m {name} -v {version} --all || true
"""


def version() -> str:
    """The module's own, MODULE_VERSION; :class:`CintError` where it has none."""
    found = re.search(r'MODULE_VERSION\("([^"]+)"\)',
                      (paths.GUEST_MODULE / "main.c").read_text(encoding="utf-8"))
    if not found:
        raise CintError("guest-module/main.c has no MODULE_VERSION")
    return found[1]


def put_sources(directory: Path) -> Path:
    """The sources as DKMS wants them, below `directory`: NAME-VERSION/."""
    place = directory / f"{NAME}-{version()}"
    place.mkdir(parents=True)
    for path in hints.module_files():
        shutil.copyfile(path, place / path.name)
    conf = (paths.GUEST_MODULE / "dkms.conf").read_text(encoding="utf-8")
    (place / "dkms.conf").write_text(conf.replace("#MODULE_VERSION#", version()), "utf-8")
    return place


def make_deb(directory: Path) -> Path:
    """Write the package into a directory; its place, or :class:`CintError` of dpkg-deb's."""
    names = {"name": NAME, "version": version()}
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "root"
        put_sources(root / "usr/src")
        load = root / f"usr/lib/modules-load.d/{NAME}.conf"
        load.parent.mkdir(parents=True)
        load.write_text(f"{hints.NAME}\n", "utf-8")
        control = root / "DEBIAN"
        control.mkdir(mode=0o755)
        (control / "control").write_text(_CONTROL.format(**names), "utf-8")
        for script, text in (("postinst", _POSTINST), ("prerm", _PRERM)):
            (control / script).write_text(text.format(**names), "utf-8")
            (control / script).chmod(0o755)
        root.chmod(0o755)
        target = directory / f"{NAME}-dkms_{version()}_all.deb"
        done = ask.run(["dpkg-deb", "--root-owner-group", "-b", root, target])
    if done.returncode:
        raise CintError(f"dpkg-deb: {done.stderr.strip()}")
    return target
