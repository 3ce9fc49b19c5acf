# SPDX-License-Identifier: GPL-2.0-or-later
"""The module that gives hints from a kernel as it is (guest-module/), built for the distro guest.

It is built as a person on that distribution would: with the headers of that kernel and the
compiler they ask for, by package name from the kernel's own release. These are unpacked into a
root of their own, in which make runs; nothing is installed here.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from cint import ask, paths, steps, ui
from cint.build import distro, image, sources

#: The module's name and, with .ko, its file.
NAME = "cint_hints"
#: Where it is in the guest.
GUEST_FILE = f"/lib/modules/{NAME}.ko"

#: Headers, what they are built with, and what both need, as one download.
HEADERS = sources.Package(
    name="linux-headers", title="headers of the distribution's kernel",
    series=distro.KERNEL.series, verified=distro.KERNEL.verified,
    releases=distro.KERNEL.releases, tree=paths.DISTRO_ROOT)
#: What make needs beside the compiler that the headers name.
_TOOLS = ("make", "dash", "coreutils", "sed", "grep", "mawk", "findutils")
#: In the root, as in every Debian since 12.
_MERGED = ("bin", "sbin", "lib", "lib64")


def headers_name(kernel_package: str) -> str:
    """`linux-image-6.12.107+deb13-amd64` -> the package of its headers."""
    return kernel_package.replace("linux-image-", "linux-headers-").removesuffix("-unsigned")


def common_names(release: str) -> tuple[str, str]:
    """The packages of what a release's headers share with others, and of the tools they need.

    Debian 12's tools are named after the version, later ones after the whole release.
    """
    abi = re.sub(r"-(cloud-|rt-)?amd64$", "", release)
    version = re.match(r"\d+\.\d+", release)
    own = f"linux-kbuild-{version[0]}" if version and "+" not in abi else f"linux-kbuild-{abi}"
    return f"linux-headers-{abi}-common", own


def parse_compiler(depends: str) -> str:
    """The compiler that the headers' Depends: names, `gcc-14`."""
    found = re.search(r"\bgcc-\d+\b", depends)
    return found[0] if found else "gcc"


def _cache(step: steps.Step, release: str, *words: str) -> str:
    done = sources.apt_cache(release, *words)
    step.write(done.stderr)
    return done.stdout


def parse_installed(text: str) -> list[str]:
    """`name=version` of what `apt-get -s install` says it would install."""
    return [f"{name}={version}"
            for name, version in re.findall(r"^Inst (\S+) \((\S+) ", text, re.MULTILINE)]


def parse_files(text: str) -> list[tuple[str, int, str]]:
    """Name, bytes and sum of each package in `apt-cache show` output, as apt-get names the files.

    That is without an epoch's colon, unlike in the archive, which has no epoch there at all.
    """
    found = []
    for stanza in text.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version|Architecture|Size|SHA256): (.+)$", stanza,
                                 re.MULTILINE))
        if len(fields) == 5:
            version = fields["Version"].replace(":", "%3a")
            found.append((f"{fields['Package']}_{version}_{fields['Architecture']}.deb",
                          int(fields["Size"]), fields["SHA256"]))
    return found


def _candidate(step: steps.Step, kernel: sources.Candidate) -> tuple[sources.Candidate, list[str]]:
    """What is to be downloaded for a kernel, and as which packages."""
    own = f"{headers_name(kernel.package)}={kernel.version}"
    shown = _cache(step, kernel.release, "show", own)
    common, kbuild = common_names(kernel.package.removeprefix("linux-image-"))
    compiler = parse_compiler(shown)
    asked = [f"{common}={kernel.version}", f"{kbuild}={kernel.version}", compiler, *_TOOLS]
    done = ask.run(["apt-get", *sources.apt_options(kernel.release, "deb"), "-s",
                    "--no-install-recommends", "install", *asked])
    step.write(done.stdout + done.stderr)
    names = [own, *parse_installed(done.stdout)]
    files = parse_files(_cache(step, kernel.release, "show", *names))
    if len(names) == 1 or len(files) != len(names):
        return sources.Candidate(HEADERS.name, kernel.version, kernel.release, ()), []
    return (sources.Candidate(HEADERS.name, kernel.version, kernel.release, tuple(files)), names)


def fetch(kernel: sources.Candidate) -> sources.Candidate:
    """The headers of a kernel and their compiler, from the cache or else from the mirror."""
    have = sources.complete(HEADERS, kernel.version)
    if have:
        return have
    with steps.step("headers-download", "Download the kernel's headers and compiler") as step:
        for update in (False, True):
            if update:
                sources.update_lists(step, kernel.release, "deb")
            candidate, names = _candidate(step, kernel)
            argv = ["apt-get", *sources.apt_options(kernel.release, "deb"), "download", *names]
            if names and sources.download(step, HEADERS, candidate, argv):
                step.summary(f"{len(names)} packages, {ui.size(candidate.size)}")
                return candidate
        old = paths.display(sources.download_directory(distro.KERNEL, kernel.version))
        raise step.fail(
            f"the package mirror has no {headers_name(kernel.package)} {kernel.version}",
            f"it may have a newer kernel: remove {old} and run the command again; or use "
            "--hints off")


def fetch_headers() -> sources.Candidate:
    """The same for the distro guest's kernel, which must have been built (distro.build())."""
    version = steps.Stamp("distro-kernel").facts()["version"]
    (kernel,) = [one for one in sources.downloaded(distro.KERNEL)
                 if one.version == version] or [distro.fetch()]
    return fetch(kernel)


def _unpack(step: steps.Step, candidate: sources.Candidate) -> None:
    """Fill paths.DISTRO_ROOT."""
    root = paths.DISTRO_ROOT
    shutil.rmtree(root, ignore_errors=True)
    for name in _MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    directory = sources.undamaged(step, HEADERS, candidate)
    for number, (name, _, _) in enumerate(candidate.files):
        step.update(f"{number + 1} of {len(candidate.files)}")
        step.run(["sh", "-c", 'dpkg-deb --fsys-tarfile "$1" | '
                  'tar -x --keep-directory-symlink --no-same-owner -C "$2"', "sh",
                  directory / name, root])
    # What packages leave to their scripts, which do not run here.
    (root / "usr/bin/awk").symlink_to("mawk")
    for name in ("dev", "build"):
        (root / name).mkdir(exist_ok=True)
    (root / "dev/null").touch()


def sources_hash() -> str:
    """A hash of the module's sources."""
    return steps.hash_files(module_files())


def module_files() -> list[Path]:
    """The module's sources."""
    return sorted(path for path in paths.GUEST_MODULE.iterdir()
                  if path.suffix in (".c", ".h") or path.name in ("Kbuild", "Makefile"))


def compile_module(step: steps.Step, release: str, files: Iterable[Path]) -> Path:
    """Run make in the root, as a person would in that distribution; where the module is then."""
    root = paths.DISTRO_ROOT
    shutil.rmtree(root / "build", ignore_errors=True)
    (root / "build").mkdir()
    (root / "proc").mkdir(exist_ok=True)
    for path in files:
        shutil.copyfile(path, root / "build" / path.name)
    # The headers' link points where they were configured for; and nobody reads the module's BTF.
    make = (f"make -C /build KDIR=/usr/src/linux-headers-{release} CONFIG_DEBUG_INFO_BTF_MODULES= "
            "KCFLAGS=-Werror")
    # Since Linux 7 objtool asks /proc how large its stack may be.
    enter = 'mount --bind /dev/null "$0/dev/null" && mount --rbind /proc "$0/proc" && ' \
            'exec chroot "$0" /usr/bin/env -i ' \
            f'PATH=/usr/bin:/usr/sbin LC_ALL=C /bin/sh -c "{make}"'
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    step.run(["unshare", *user, "--mount", "sh", "-c", enter, root],
             hint="user namespaces must be allowed, or run the command as root")
    return root / "build"


def _build_module() -> bool:
    facts = steps.Stamp("distro-kernel").facts()
    inputs = {"kernel": facts["version"], "sources": sources_hash()}
    stamp = steps.Stamp("distro-hints")
    if stamp.current(inputs, paths.DISTRO_HINTS):
        return False
    candidate = fetch_headers()
    stamp.remove()
    unpacked = steps.Stamp("distro-headers")
    if not unpacked.current({"version": candidate.version}, paths.DISTRO_ROOT):
        with steps.step("headers-unpack", "Unpack the kernel's headers and compiler") as step:
            _unpack(step, candidate)
        unpacked.write({"version": candidate.version})
    with steps.step("distro-hints", "Build the hints module") as step:
        place = compile_module(step, facts["release"], module_files())
        paths.DISTRO_HINTS.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(place / f"{NAME}.ko", paths.DISTRO_HINTS)
        step.summary(f"for {facts['release']}, {ui.size(paths.DISTRO_HINTS.stat().st_size)}")
    stamp.write(inputs)
    return True


def build() -> bool:
    """Make the distro guest's module and an image with it; True when there was something to do.

    fio and the agent must have been built (image.build()).
    """
    worked = distro.build()
    worked = _build_module() or worked
    return image.build_distro(paths.DISTRO_HINTS) or worked
