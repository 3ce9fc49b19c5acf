# SPDX-License-Identifier: GPL-2.0-or-later
"""The sources of QEMU, Linux and fio: found, downloaded, checked, unpacked.

They are the distribution's source packages, by package name. The mirror is the one the
machine's own apt uses; the lists are Debian 13's (and 12's as a fallback), kept in a
private apt root, so that the system's apt files are neither read for deb-src lines nor
changed. A mirror's index may name files that it no longer has, so there is a list of
candidates and the first that downloads completely is used. Without apt, or without Debian's
keyring, the files come from the address in CINT_DEBIAN_MIRROR, and are known by their sums.
"""

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from cint import ask, paths, steps, ui
from cint.build import pinned
from cint.errors import CintError

_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_COMPLETE = "complete.json"
#: A release without updates of its own.
_ALONE = "experimental"


@dataclass(frozen=True)
class Package:
    """A source package and what is known about its versions.

    `series` are the upstream versions taken, most wanted first; `verified` are exact
    versions that all tests passed with, most wanted first; `releases` are the Debian
    releases searched, in that order. Sizes are in bytes, for the disk space check.
    """

    name: str
    title: str
    series: tuple[str, ...]
    verified: tuple[str, ...]
    releases: tuple[str, ...]
    tree: Path
    tar_only: bool = False


QEMU = Package(
    name="qemu", title="QEMU", series=("10.0",),
    verified=("1:10.0.13+ds-0+deb13u1",),
    releases=("trixie",), tree=paths.QEMU_SRC,
)
LINUX = Package(
    name="linux", title="Linux", series=("6.12",),
    verified=("6.12.107-1", "6.12.94-1"),
    releases=("trixie",), tree=paths.LINUX_SRC,
    # Upstream's tarball without the distribution's patches: they are not needed
    # in the guest, and applying 200 of them takes longer than unpacking.
    tar_only=True,
)
FIO = Package(
    name="fio", title="fio", series=("3.39", "3.33"),
    verified=("3.39-1", "3.33-3"),
    releases=("trixie", "bookworm"), tree=paths.FIO_SRC,
    # The release as upstream made it, the same on every machine.
    tar_only=True,
)
ALL = (QEMU, LINUX, FIO)
#: Only where libnvme is the one it is built against (nvme_cli.LIBNVME).
NVME_CLI = Package(
    name="nvme-cli", title="nvme-cli", series=("2.4+really2.3",), verified=("2.4+really2.3-3",),
    releases=("bookworm",), tree=paths.NVME_SRC, tar_only=True,
)


@dataclass(frozen=True)
class Candidate:
    """One version of a source package that the mirror's index lists."""

    package: str
    version: str
    release: str
    files: tuple[tuple[str, int, str], ...]  # name, bytes, SHA-256

    @property
    def size(self) -> int:
        """Bytes to download."""
        return sum(size for _, size, _ in self.files)

    @property
    def upstream(self) -> str:
        """The upstream version: without epoch, Debian revision and repack suffix."""
        return upstream_version(self.version)


@dataclass(frozen=True)
class Source:
    """An unpacked source tree and where it came from."""

    package: Package
    version: str
    tree: Path
    verified: bool


def upstream_version(version: str) -> str:
    """`1:10.0.13+ds-0+deb13u1` -> `10.0.13`."""
    return re.sub(r"\+(ds|dfsg).*$", "", version.split(":", 1)[-1].rsplit("-", 1)[0])


def version_key(version: str) -> tuple[tuple[int, int | str], ...]:
    """Sorts Debian versions of one package well enough: numbers as numbers."""
    words = re.findall(r"\d+|[^\d]+", version.split(":", 1)[-1])
    return tuple((1, int(word)) if word.isdigit() else (0, word) for word in words)


# --- the mirror and its lists ------------------------------------------------------------


@dataclass(frozen=True)
class Mirror:
    """Where this machine gets Debian packages from."""

    main: str
    security: str | None


def parse_targets(text: str) -> Mirror | None:
    """The mirror in the output of `apt-get indextargets`: lines of site, release, origin."""
    main: str | None = None
    security: str | None = None
    for site, release in (words[:2] for words in map(str.split, text.splitlines())
                          if len(words) >= 2):
        if not re.match(r"(bookworm|trixie|stable|oldstable)", release):
            continue
        if release.endswith("-security"):
            security = security or site
        elif "-" not in release:
            main = main or site
    return Mirror(main, security) if main else None


def find_mirror() -> Mirror:
    """CINT_DEBIAN_MIRROR, or the mirror of apt's own configuration; CintError without one."""
    named = os.environ.get("CINT_DEBIAN_MIRROR")
    if named:
        return Mirror(named, None)
    hint = "name a Debian mirror: CINT_DEBIAN_MIRROR=URL, or use --qemu-src and --linux-src"
    if not shutil.which("apt-get"):
        raise CintError("no apt-get, so there is no package mirror to take the sources from",
                        hint=hint)
    done = ask.run(["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE)",
                    "Identifier: Packages"])
    mirror = parse_targets(done.stdout)
    if mirror is None:
        raise CintError("apt's configuration names no mirror of Debian 12 or 13", hint=hint)
    return mirror


def source_list(mirror: Mirror, release: str, kind: str = "deb-src") -> str:
    """The lines of one release; `kind` is deb-src, or deb for built packages.

    That of backports has what they are built on, too.
    """
    signed = f"[signed-by={_KEYRING}] " if Path(_KEYRING).exists() else ""
    if release == _ALONE:
        return f"{kind} {signed}{mirror.main} {release} main\n"
    base = release.removesuffix("-backports")
    suites = [(mirror.main, base), (mirror.main, f"{base}-updates")]
    if mirror.security:
        suites.append((mirror.security, f"{base}-security"))
    if release != base:
        suites.append((mirror.main, release))
    return "".join(f"{kind} {signed}{site} {suite} main\n" for site, suite in suites)


def apt_root(release: str, kind: str = "deb-src") -> Path:
    """The private apt root; built packages have one of their own."""
    return paths.APT / (release if kind == "deb-src" else f"{release}-{kind}")


def apt_options(release: str, kind: str = "deb-src") -> list[str]:
    """Options that make apt use the private root."""
    root = apt_root(release, kind)
    settings = {
        "Dir::Etc::SourceList": root / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": root / "lists",
        "Dir::Cache": root / "cache",
        # Root's cache directory is closed to apt's own download user.
        "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
        "Acquire::Languages": "none",
        "Acquire::Retries": "2",
    }
    if kind == "deb":
        # Else what is installed here is listed too.
        settings["Dir::State::status"] = "/dev/null"
    return [word for key, value in settings.items() if str(value)
            for word in ("-o", f"{key}={value}")]


def apt_cache(release: str, *words: str,
              kind: str = "deb") -> "subprocess.CompletedProcess[str]":
    """Ask the private package lists of `release`."""
    return ask.run(["apt-cache", *apt_options(release, kind), *words])


def update_lists(step: steps.Step, release: str, kind: str = "deb-src") -> None:
    """Fetch the private package lists of `release`."""
    root = apt_root(release, kind)
    for part in ("lists/partial", "cache/archives/partial"):
        (root / part).mkdir(parents=True, exist_ok=True)
    steps.write_atomic(root / "sources.list", source_list(find_mirror(), release, kind))
    step.update("package lists")
    step.run(["apt-get", *apt_options(release, kind), "update"],
             hint="the package mirror must be reachable; once fetched, the network may be off")


def parse_sources(text: str, release: str) -> list[Candidate]:
    """The candidates in `apt-cache showsrc` output, each version once."""
    found: dict[str, Candidate] = {}
    for stanza in text.split("\n\n"):
        name = re.search(r"^Package: (.+)$", stanza, re.MULTILINE)
        version = re.search(r"^Version: (.+)$", stanza, re.MULTILINE)
        sums = re.search(r"^Checksums-Sha256:\s*\n((?: .+\n?)+)", stanza, re.MULTILINE)
        if not (name and version and sums):
            continue
        rows = [line.split() for line in sums[1].splitlines()]
        files = tuple((row[2], int(row[1]), row[0]) for row in rows if len(row) == 3)
        found.setdefault(version[1], Candidate(name[1], version[1], release, files))
    return list(found.values())


def order_candidates(package: Package, listed: list[Candidate]) -> list[Candidate]:
    """Those of the wanted series: verified ones first, then the newest."""

    def in_series(candidate: Candidate) -> bool:
        return any(re.match(re.escape(series) + r"(\.|$)", candidate.upstream)
                   for series in package.series)

    def rank(candidate: Candidate) -> int:
        if candidate.version in package.verified:
            return package.verified.index(candidate.version)
        return len(package.verified)

    newest_first = sorted(filter(in_series, listed), reverse=True,
                          key=lambda candidate: version_key(candidate.version))
    return sorted(newest_first, key=rank)


def list_candidates(step: steps.Step, package: Package, release: str) -> list[Candidate]:
    """The candidates of the index of `release` for `package`, in the order to try."""
    done = apt_cache(release, "showsrc", "--only-source", package.name, kind="deb-src")
    step.write(f"{package.name} in {release}: {done.stderr.strip() or 'listed'}")
    return order_candidates(package, parse_sources(done.stdout, release))


# --- downloads ---------------------------------------------------------------------------


def download_directory(package: Package, version: str) -> Path:
    """Where a download is kept."""
    safe = re.sub(r"[^A-Za-z0-9.+~-]", "_", version.split(":", 1)[-1])
    return paths.DOWNLOADS / f"{package.name}_{safe}"


def _read_complete(directory: Path) -> Candidate | None:
    """The candidate a finished download directory holds."""
    try:
        data = json.loads((directory / _COMPLETE).read_text(encoding="utf-8"))
        files = tuple((str(name), int(size), str(digest)) for name, size, digest in data["files"])
        found = Candidate(data["package"], data["version"], data["release"], files)
    except (OSError, ValueError, KeyError):
        return None
    whole = all((directory / name).is_file() and (directory / name).stat().st_size == size
                for name, size, _ in files)
    return found if whole else None


def complete(package: Package, version: str) -> Candidate | None:
    """The complete download of one version in the cache, if it is there."""
    return _read_complete(download_directory(package, version))


def downloaded(package: Package) -> list[Candidate]:
    """Complete downloads of `package` in the cache, in the order to use them."""
    found = (_read_complete(path) for path in paths.DOWNLOADS.glob(f"{package.name}_*"))
    return order_candidates(package, [candidate for candidate in found if candidate])


def _mismatches(directory: Path, candidate: Candidate) -> Iterator[str]:
    for name, size, digest in candidate.files:
        path = directory / name
        if not path.is_file() or path.stat().st_size != size or steps.hash_file(path) != digest:
            yield name


def _watch(step: steps.Step, directory: Path, total: int, done: threading.Event) -> None:
    """Show how much has arrived; apt itself is silent without a terminal."""
    while not done.wait(0.5):
        have = sum(path.stat().st_size for path in directory.glob("*") if path.is_file())
        step.update(f"{ui.size(have)} of {ui.size(total)}")


def download(step: steps.Step, package: Package, candidate: Candidate, argv: list[str]) -> bool:
    """Download one candidate completely with `argv`; False when the mirror does not have it."""
    final = download_directory(package, candidate.version)
    partial = final.with_name(final.name + ".partial")
    partial.mkdir(parents=True, exist_ok=True)
    ui.detail(f"downloading {package.name} {candidate.version} ({ui.size(candidate.size)})")
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(step, partial, candidate.size, done))
    watcher.start()
    try:
        code, _ = step.run(argv, cwd=partial, check=False)
    finally:
        done.set()
        watcher.join()
    bad = list(_mismatches(partial, candidate))
    if code or bad:
        step.write(f"cint: {candidate.version} is not to be had (files: {', '.join(bad)})")
        return False
    _keep(partial, final, candidate)
    return True


def _keep(partial: Path, final: Path, candidate: Candidate) -> None:
    """A download is complete."""
    steps.write_atomic(partial / _COMPLETE, json.dumps({
        "package": candidate.package, "version": candidate.version,
        "release": candidate.release, "files": candidate.files,
    }))
    shutil.rmtree(final, ignore_errors=True)
    partial.rename(final)


def without_apt() -> str | None:
    """Why the mirror's index cannot be asked; None where it can."""
    named = os.environ.get("CINT_DEBIAN_MIRROR")
    if named and pinned.is_directory(named):
        return f"{named} is a directory"
    if not shutil.which("apt-get"):
        return "there is no apt-get"
    # apt takes no index that it cannot verify.
    return None if Path(_KEYRING).exists() else f"there is no {_KEYRING}"


def _fetch_pinned(step: steps.Step, package: Package, why: str) -> Candidate:
    """Get the files by their names and sums from where the person says."""
    base = os.environ.get("CINT_DEBIAN_MIRROR")
    known = {entry.version: entry for entry in pinned.entries(package.name)}
    if not base:
        names = [name for entry in known.values() for name, _, _ in entry.files]
        raise step.fail(f"{why}, so the source has to be named",
                        "CINT_DEBIAN_MIRROR=URL|DIR: a Debian mirror, or what else has "
                        f"{', '.join(names)}")
    entry = next(known[version] for version in package.verified if version in known)
    candidate = Candidate(entry.package, entry.version, entry.release, entry.files)
    final = download_directory(package, entry.version)
    partial = final.with_name(final.name + ".partial")
    pinned.fetch(base, entry, partial, step.update)
    _keep(partial, final, candidate)
    return candidate


def _download(step: steps.Step, package: Package, candidate: Candidate) -> bool:
    """Download a source package completely; False when the mirror does not have it."""
    return download(step, package, candidate,
                    ["apt-get", *apt_options(candidate.release), "source", "--download-only",
                     "--only-source", f"{package.name}={candidate.version}"])


def fetch(package: Package) -> Candidate:
    """A complete download of `package`, from the cache or from the mirror.

    What is in the cache is used without asking the network, so a set-up with the
    network off works and an old set-up does not change by itself.
    """
    have = downloaded(package)
    if have:
        return have[0]
    with steps.step(f"{package.name}-download", f"Download the {package.title} source") as step:
        candidate = _fetch_first(step, package)
        step.summary(f"{candidate.version}, {ui.size(candidate.size)}")
    for partial in paths.DOWNLOADS.glob(f"{package.name}_*.partial"):
        shutil.rmtree(partial, ignore_errors=True)
    return candidate


def _fetch_first(step: steps.Step, package: Package) -> Candidate:
    if why := without_apt():
        return _fetch_pinned(step, package, why)
    tried: list[str] = []
    for release in package.releases:
        update_lists(step, release)
        for candidate in list_candidates(step, package, release):
            if _download(step, package, candidate):
                return candidate
            tried.append(candidate.version)
    series = " or ".join(f"{series}.x" for series in package.series)
    what = f"tried {', '.join(tried)}" if tried else "the index lists none"
    own = f", or use --{package.name}-src DIR" if package.name in ("qemu", "linux") else ""
    raise step.fail(f"the package mirror has no {package.title} {series} source ({what})",
                    f"try later or another mirror (CINT_DEBIAN_MIRROR=URL){own}")


# --- unpacking ---------------------------------------------------------------------------


def undamaged(step: steps.Step, package: Package, candidate: Candidate) -> Path:
    """Where a download is, whose files are what they were; one with others is removed."""
    directory = download_directory(package, candidate.version)
    bad = list(_mismatches(directory, candidate))
    if bad:
        shutil.rmtree(directory)
        raise step.fail(f"damaged download: {', '.join(bad)}", "removed; run the command again")
    return directory


def unpack(package: Package) -> Source:
    """The unpacked tree of `package`, downloaded if need be."""
    stamp = steps.Stamp(f"{package.name}-source")
    recorded = stamp.facts().get("version")
    if recorded and stamp.current({"version": recorded, "tar_only": package.tar_only},
                                  package.tree):
        return Source(package, recorded, package.tree, recorded in package.verified)
    candidate = fetch(package)
    verified = candidate.version in package.verified
    if not verified:
        ui.warn(f"{package.title} {candidate.version} was never verified with cint",
                f"verified: {', '.join(package.verified)}; if something fails, this may be why")
    stamp.remove()
    with steps.step(f"{package.name}-unpack", f"Unpack {package.title}") as step:
        _unpack(step, package, candidate)
        step.summary(candidate.upstream)
    stamp.write({"version": candidate.version, "tar_only": package.tar_only},
                version=candidate.version)
    return Source(package, candidate.version, package.tree, verified)


def unpack_to(package: Package, directory: Path) -> str:
    """Unpack `package` once more, into an empty or new directory; its upstream version.

    Nothing of a build is in it, and no later build looks at it.
    """
    candidate = fetch(package)
    scratch = paths.SRC / f"{package.name}-export"
    with steps.build_lock(), steps.step(f"{package.name}-unpack",
                                        f"Unpack {package.title}") as step:
        _unpack(step, replace(package, tree=scratch), candidate)
        step.summary(candidate.upstream)
    if directory.exists():
        directory.rmdir()
    directory.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(scratch, directory)
    return candidate.upstream


def _unpack(step: steps.Step, package: Package, candidate: Candidate) -> None:
    """Unpack beside the tree, then rename: an interrupted unpack is never taken as done."""
    directory = undamaged(step, package, candidate)
    temporary = package.tree.with_name(package.tree.name + ".unpacking")
    pristine = package.tree.with_name(package.tree.name + ".pristine")
    for path in (temporary, pristine, package.tree):
        step.update("removing the old tree")
        shutil.rmtree(path, ignore_errors=True)
    step.update("")
    temporary.parent.mkdir(parents=True, exist_ok=True)
    if package.tar_only:
        (tarball,) = (name for name, _, _ in candidate.files
                      if re.search(r"\.orig\.tar\.\w+$", name))
        temporary.mkdir()
        step.run(["tar", "-x", "--strip-components=1", "-C", temporary, "-f", directory / tarball])
    else:
        _unpack_patched(step, directory, candidate, temporary)
    temporary.rename(package.tree)


def _unpack_patched(step: steps.Step, directory: Path, candidate: Candidate,
                    target: Path) -> None:
    """Unpack a package with the distribution's patches."""
    names = [name for name, _, _ in candidate.files]
    if shutil.which("dpkg-source"):
        (dsc,) = (name for name in names if name.endswith(".dsc"))
        step.run(["dpkg-source", "--no-check", "--no-copy", "-x", directory / dsc, target])
        return
    (tarball,) = (name for name in names if re.search(r"\.orig\.tar\.\w+$", name))
    (debian,) = (name for name in names if re.search(r"\.debian\.tar\.\w+$", name))
    target.mkdir()
    step.run(["tar", "-x", "--strip-components=1", "-C", target, "-f", directory / tarball])
    step.run(["tar", "-x", "-C", target, "-f", directory / debian])
    series = target / "debian/patches/series"
    lines = series.read_text("utf-8").splitlines() if series.exists() else []
    for name in filter(None, (line.partition("#")[0].strip() for line in lines)):
        step.run(["patch", "-s", "-p1", "--no-backup-if-mismatch", "-d", target,
                  "-i", series.with_name(name)])
