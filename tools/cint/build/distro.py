# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest that runs the distribution's own kernel, as the distribution built it.

It shows that cint needs nothing of the guest: kernel and modules come from Debian's
package, only the root file system (agent, fio, nvme-cli, busybox) is ours.  The package
is looked for as the sources are (see sources.py), through a private apt root; nothing is
installed.  The package holds compressed modules and no list of what needs what, so that
list is made here by depmod, and the few modules that the guest needs are put into the
image uncompressed, in the order in which the agent loads them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cint import paths, steps, ui
from cint.build import image, sources

#: The kernel that the package linux-image-amd64 stands for, else the smaller one for
#: virtual machines, of Debian 13; Debian 12's if the mirror has none of them.
KERNEL = sources.Package(
    name="linux-image", title="distribution's kernel", series=("6.12", "6.1"),
    verified=("6.12.107-1", "6.12.117-1", "6.12.117-1~deb12u1", "6.1.192-2"),
    releases=("trixie", "bookworm"), tree=paths.DISTRO,
)
_KERNEL_NAME = re.compile(r"linux-image-\d+\.\d+\.\d+[+-][0-9a-z.]+(-cloud)?-amd64")
_PART = re.compile(r"\b(linux-(?:base|binary|modules)-\S+-amd64) \(= (\S+)\)")

#: Modules that the guest needs, where they are not built in.
MODULES = ("virtio_pci", "virtio_console", "qemu_fw_cfg", "nvme")
#: What tests load besides, in an image that has them.
MORE_MODULES = ("crc32c_generic", "ext4", "xfs", "dm_mod", "virtio_blk")

#: Modules' file names say how they are compressed: program and its package.
_DECOMPRESSORS = {".xz": ("xz", "xz-utils"), ".zst": ("zstd", "zstd")}

_LOAD_ORDER = "load-order"
_MORE_ORDER = "more-order"
_GUEST_MODULES = "/lib/modules"


# --- the package -------------------------------------------------------------------------


def parse_packages(text: str, release: str) -> list[sources.Candidate]:
    """The kernels in `apt-cache show` output, each with the parts that it consists of.

    Those whose parts are not in the text are left out: see missing_parts().
    """
    known = {(fields["Package"], fields["Version"]): fields for fields in _stanzas(text)}
    found: list[sources.Candidate] = []
    for (package, version), fields in known.items():
        parts = [known.get(name) for name in ((package, version), *_parts(fields))]
        if not _KERNEL_NAME.fullmatch(package) or None in parts:
            continue
        files = tuple((one["Filename"].rpartition("/")[2], int(one["Size"]), one["SHA256"])
                      for one in parts if one)
        found.append(sources.Candidate(package, version, release, files))
    return found


def missing_parts(text: str) -> list[str]:
    """`name=version` of what the kernels in `apt-cache show` output consist of, without them."""
    return sorted(f"{name}={version}" for fields in _stanzas(text)
                  if _KERNEL_NAME.fullmatch(fields["Package"])
                  for name, version in _parts(fields))


def _stanzas(text: str) -> Iterator[dict[str, str]]:
    """The fields that matter of each package that has them."""
    for stanza in text.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version|Filename|Size|SHA256|Depends): (.+)$", stanza,
                                 re.MULTILINE))
        if {"Package", "Version", "Filename", "Size", "SHA256"} <= set(fields):
            yield fields


def _parts(fields: dict[str, str]) -> list[tuple[str, str]]:
    """Since Linux 7 a kernel's package is empty, and needs those that have kernel and modules."""
    return [(name, version) for name, version in _PART.findall(fields.get("Depends", ""))
            if version == fields["Version"]]


def _list(step: steps.Step, release: str) -> list[sources.Candidate]:
    """What the index of `release` offers, in the order to try."""
    names = sources.apt_cache(release, "pkgnames", "linux-image-").stdout.split()
    wanted = sorted(name for name in names if _KERNEL_NAME.fullmatch(name))
    step.write(f"kernels in {release}: {' '.join(wanted) or 'none'}")
    if not wanted:
        return []
    text = sources.apt_cache(release, "show", *wanted).stdout
    if parts := missing_parts(text):
        text += "\n\n" + sources.apt_cache(release, "show", *parts).stdout
    return order(parse_packages(text, release))


def order(listed: Iterable[sources.Candidate]) -> list[sources.Candidate]:
    """Kernels in the order to try: the usual one before the cloud one, then as sources are."""
    return sorted(sources.order_candidates(KERNEL, list(listed)),
                  key=lambda candidate: "-cloud-" in candidate.package)


def _download(step: steps.Step, candidate: sources.Candidate) -> bool:
    names = [name.partition("_")[0] for name, _, _ in candidate.files]
    return sources.download(step, KERNEL, candidate,
                            ["apt-get", *sources.apt_options(candidate.release, "deb"), "download",
                             *(f"{name}={candidate.version}" for name in names)])


def fetch() -> sources.Candidate:
    """The kernel package, from the cache or else the first that the mirror really has."""
    have = [one for one in sources.downloaded(KERNEL) if one.release in KERNEL.releases]
    if have:
        return have[0]
    tried: list[str] = []
    with steps.step("distro-download", "Download the distribution's kernel") as step:
        for release in KERNEL.releases:
            sources.update_lists(step, release, "deb")
            for candidate in _list(step, release):
                if _download(step, candidate):
                    step.summary(f"{candidate.package}, {ui.size(candidate.size)}")
                    return candidate
                tried.append(candidate.version)
        what = f"tried {', '.join(tried)}" if tried else "the index lists none"
        raise step.fail(f"the package mirror has no kernel of Debian 12 or 13 ({what})",
                        "try later or another mirror (CINT_DEBIAN_MIRROR=URL), or use "
                        "--guest cint")


# --- its modules -------------------------------------------------------------------------


@dataclass(frozen=True)
class Module:
    """One module of the kernel: its file, relative to the kernel's module directory."""

    name: str
    path: str


def module_name(path: str) -> str:
    """`kernel/drivers/nvme/host/nvme-core.ko.xz` -> `nvme_core`."""
    return path.rpartition("/")[2].partition(".ko")[0].replace("-", "_")


def load_order(dep: str, builtin: str, wanted: Iterable[str]) -> list[Module]:
    """`wanted` and what they need, each after what it needs, without what is built in.

    `dep` and `builtin` are the texts of modules.dep and modules.builtin.  ValueError
    names a module that the kernel does not have.
    """
    needs: dict[str, tuple[str, list[str]]] = {}
    for line in dep.splitlines():
        path, _, rest = line.partition(":")
        needs[module_name(path)] = (path, rest.split())
    inside = {module_name(path) for path in builtin.splitlines()}
    found: dict[str, Module] = {}
    for name in wanted:
        if name in inside:
            continue
        if name not in needs:
            raise ValueError(name)
        path, others = needs[name]
        # depmod lists what is to be loaded first last.
        for one in (*reversed(others), path):
            found.setdefault(module_name(one), Module(module_name(one), one))
    return list(found.values())


def _decompress(step: steps.Step, source: Path, target: Path) -> None:
    """Write a module as the kernel's finit_module() takes it without any option."""
    program, package_name = _DECOMPRESSORS.get(source.suffix, ("", ""))
    if not program:
        shutil.copyfile(source, target)
        return
    if not shutil.which(program):
        raise step.fail(f"{source.name} needs the program {program}",
                        f"install it:  apt-get install {package_name}")
    with target.open("wb") as out:
        done = subprocess.run([program, "-dc", str(source)], stdout=out, check=False,
                              stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise step.fail(f"{program}: {done.stderr.strip()}", "run the command again")


def _take_modules(step: steps.Step, root: Path, release: str) -> list[str]:
    """Fill paths.DISTRO_MODULES and DISTRO_MORE from an unpacked package; the former's names."""
    directory = root / "lib/modules" / release
    step.update("finding out which module needs which")
    step.run(["/sbin/depmod", "-b", root, release])
    try:
        dep = (directory / "modules.dep").read_text("utf-8")
        builtin = (directory / "modules.builtin").read_text("utf-8")
        chosen = load_order(dep, builtin, MODULES)
    except ValueError as missing:
        raise step.fail(f"{release} has no module {missing}",
                        "this version cannot be used; use --guest cint") from None
    _put_modules(step, directory, paths.DISTRO_MODULES, _LOAD_ORDER, chosen)
    there = {module_name(line.partition(":")[0]) for line in dep.splitlines()}
    _put_modules(step, directory, paths.DISTRO_MORE, _MORE_ORDER,
                 load_order(dep, builtin, [name for name in MORE_MODULES if name in there]))
    return [module.name for module in chosen]


def _put_modules(step: steps.Step, directory: Path, target: Path, order_name: str,
                 chosen: Iterable[Module]) -> None:
    """Fill a directory with modules, and a file that names them in the order to load them."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    lines = []
    for module in chosen:
        _decompress(step, directory / module.path, target / f"{module.name}.ko")
        lines.append(f"{_GUEST_MODULES}/{module.name}.ko\n")
    steps.write_atomic(target / order_name, "".join(lines))


def _find_kernel(step: steps.Step, root: Path, candidate: sources.Candidate) -> tuple[Path, str]:
    """The one kernel in an unpacked package, beside its modules since Linux 7; its release."""
    found = {path: path.name.removeprefix("vmlinuz-") for path in root.glob("boot/vmlinuz-*")}
    found |= {path: path.parent.name for path in root.glob("lib/modules/*/vmlinuz")}
    if len(found) != 1:
        raise step.fail(f"{candidate.package} holds {len(found)} kernels",
                        "it should be one; report this")
    return next(iter(found.items()))


def _unpack(step: steps.Step, candidate: sources.Candidate) -> tuple[str, list[str]]:
    """Take kernel and modules out of the package; the kernel's release, the modules' names."""
    root = paths.DISTRO / "unpacked"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    directory = sources.undamaged(step, KERNEL, candidate)
    for name, _, _ in candidate.files:
        step.run(["dpkg-deb", "-x", directory / name, root])
    if not (root / "lib").exists():
        # Debian 13's packages have everything below usr; depmod wants it as it is installed.
        (root / "lib").symlink_to("usr/lib")
    kernel, release = _find_kernel(step, root, candidate)
    modules = _take_modules(step, root, release)
    shutil.copyfile(kernel, paths.DISTRO_KERNEL)
    shutil.rmtree(root)
    return release, modules


# --- build -------------------------------------------------------------------------------


def _build_kernel() -> bool:
    stamp = steps.Stamp("distro-kernel")
    outputs = (paths.DISTRO_KERNEL, paths.DISTRO_MODULES / _LOAD_ORDER,
               paths.DISTRO_MORE / _MORE_ORDER)
    facts = stamp.facts()
    inputs = {"version": facts.get("version"), "modules": MODULES, "more": MORE_MODULES}
    if facts and stamp.current(inputs, *outputs):
        return False
    candidate = fetch()
    if candidate.version not in KERNEL.verified:
        ui.warn(f"the distribution's kernel {candidate.version} was never verified with cint",
                f"verified: {', '.join(KERNEL.verified)}")
    stamp.remove()
    with steps.step("distro-kernel", "Unpack the distribution's kernel") as step:
        release, modules = _unpack(step, candidate)
        step.summary(f"{release}, modules: {' '.join(modules) or 'none needed'}")
    stamp.write({"version": candidate.version, "modules": MODULES, "more": MORE_MODULES},
                version=candidate.version, package=candidate.package, release=release,
                modules=modules)
    return True


def build() -> bool:
    """Make kernel and image of the guest; True when there was something to do.

    fio and the agent must have been built (image.build()).
    """
    worked = _build_kernel()
    return image.build_distro() or worked


def package() -> str:
    """The package that the guest's kernel is from, with its version."""
    facts = steps.Stamp("distro-kernel").facts()
    return f"{facts.get('package', 'unknown')} {facts.get('version', '')}".strip()
