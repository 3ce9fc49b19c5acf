# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint doctor`: what this machine is and has, and what to do where something is missing."""

import argparse
import json
import os
import platform
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cint import __version__, ask, host, paths, steps, ui
from cint.build import packages, setup, sources
from cint.errors import EXIT_FAILED, EXIT_OK, CintError

SCHEMA = 1


@dataclass(frozen=True)
class Finding:
    """One line of the report. `state`: ok, note (works, but know it) or bad (fix it)."""

    topic: str
    state: str
    text: str
    fix: str | None = None


def declare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Report on this machine: distribution, space, package mirror, versions of "
        "everything built, and accelerators, which are really tried by starting a tiny guest. "
        "Exit code 1 when something must be fixed before cint can work.")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")


def _distribution() -> Finding:
    found = host.distribution()
    text = f"{found.name}, Linux {platform.release()}, {host.machine()}"
    if found.verified and host.machine() == "x86_64":
        return Finding("distribution", "ok", text)
    text += ": cint was tried on Debian 12 and 13, x86-64, only"
    return Finding("distribution", "note", text,
                   "use `./cint build --force`, or a Debian 12 container")


def _size() -> Finding:
    text = f"{host.cpu_count()} CPUs ({host.cpu_model()}), {ui.size(host.memory_bytes())} memory"
    if host.memory_bytes() < 3_500_000_000:
        return Finding("machine", "note", f"{text}: little memory", "compile with -j1")
    return Finding("machine", "ok", text)


def _space(topic: str, path: Path, needed: int) -> Finding:
    there = setup.existing(path)
    if not os.access(there, os.W_OK):
        return Finding(topic, "bad", f"{there} cannot be written",
                       "use a checkout, and a cache (XDG_CACHE_HOME), that you may write")
    free = shutil.disk_usage(there).free
    text = f"{ui.size(free)} free for {path}"
    if setup.is_set_up() or free >= needed:
        return Finding(topic, "ok", text)
    return Finding(topic, "bad", f"{text}; a first set-up needs {ui.size(needed)}",
                   "free some space, or set XDG_CACHE_HOME to another disk for the cache")


def _packages() -> list[Finding]:
    """What guests need, and what only the tests need beside."""
    guests = packages.needed(setup.TARGETS)
    tests = [name for name in packages.PACKAGES if name not in guests]
    return [_packages_for(what, verb, wanted)
            for what, verb, wanted in (("packages", "./cint build installs", guests),
                                       ("for tests", "./cint test installs", tests))]


def _packages_for(topic: str, who: str, wanted: Sequence[str]) -> Finding:
    names = packages.missing(wanted)
    if not names:
        return Finding(topic, "ok", f"all {len(wanted)} packages needed are installed")
    return Finding(topic, "note", f"missing: {' '.join(names)}",
                   f"nothing: {who} what it needs, or: {packages.install_command(names)}")


def _mirror() -> Finding:
    try:
        return Finding("mirror", "ok", sources.find_mirror().main)
    except CintError as problem:
        have = all(sources.downloaded(package) for package in sources.ALL)
        return Finding("mirror", "note" if have else "bad", problem.message, problem.hint)


def _ccache() -> Finding:
    if not shutil.which("ccache"):
        return Finding("ccache", "note", "not installed", "./cint build installs it")
    done = ask.run(["ccache", "--print-stats"],
                   env={"CCACHE_DIR": str(paths.CCACHE), "PATH": "/usr/bin:/bin"})
    stats = dict(line.split("\t", 1) for line in done.stdout.splitlines() if "\t" in line)
    size = int(stats.get("cache_size_kibibyte", "0")) * 1024
    hits = int(stats.get("direct_cache_hit", "0")) + int(stats.get("preprocessed_cache_hit", "0"))
    misses = int(stats.get("cache_miss", "0"))
    return Finding("ccache", "ok", f"{ui.size(size)} in {paths.CCACHE}, {hits} hits, "
                                   f"{misses} misses")


def _accelerator(accel: host.Accel) -> Finding:
    tried = "; ".join(f"{probe.accel} -cpu {probe.cpu}: "
                      f"{'works' if probe.works else probe.reason}" for probe in accel.probes)
    text = f"{accel.name.upper()} for --time real" + (f" (tried {tried})" if tried else
                                                     f" ({accel.reason})")
    if accel.name == "kvm":
        return Finding("accelerator", "ok", f"{text}; cint was developed without: nothing of it "
                                            "was measured under KVM")
    if accel.name == "none":
        return Finding("accelerator", "bad", text, "build again: ./cint clean && ./cint build")
    return Finding("accelerator", "note", text, "virtual time, the default, uses TCG anyway; "
                                                "for KVM use a machine where it works")


def versions() -> dict[str, str | None]:
    """The version of each part that is built; None when it is not."""
    manifest = ask.json_of(paths.MANIFEST)  # empty where the image is not built
    qemu, linux = steps.Stamp("qemu").facts(), steps.Stamp("linux").facts()
    built: dict[str, str | None] = {
        "cint": __version__,
        "python": platform.python_version(),
        "qemu": qemu.get("version"),
        "qemu source": qemu.get("source"),
        "kernel": linux.get("release"),
        "kernel source": linux.get("source"),
    }
    listed = manifest.get("versions", manifest)
    for name in ("fio", "nvme-cli", "busybox"):
        value = listed.get(name) if isinstance(listed, dict) else None
        built[name] = str(value) if value else None
    return built


def _versions(built: dict[str, str | None]) -> list[Finding]:
    return [Finding(name, "ok" if value else "note", value or "not built yet",
                    None if value else "./cint build") for name, value in built.items()]


def examine() -> tuple[list[Finding], dict[str, Any]]:
    """The findings in order, and the facts for --json."""
    accel = host.choose_accel(again=True)
    built = versions()
    findings = [
        _distribution(), _size(),
        _space("space", paths.BUILD, setup.NEEDED_BUILD),
        _space("cache", paths.CACHE, setup.NEEDED_CACHE),
        *_packages(), _mirror(), _ccache(), _accelerator(accel), *_versions(built),
    ]
    facts = {
        "schema": SCHEMA,
        "distribution": asdict(host.distribution()),
        "kernel": platform.release(),
        "machine": host.machine(),
        "cpu": host.cpu_model(),
        "cpus": host.cpu_count(),
        "memory_bytes": host.memory_bytes(),
        "accelerator": asdict(accel),
        "versions": built,
        "findings": [asdict(finding) for finding in findings],
    }
    return findings, facts


def _show(findings: Sequence[Finding]) -> None:
    marks = {"ok": ("ok", "green"), "note": ("note", "yellow"), "bad": ("BAD", "red")}
    for finding in findings:
        mark, colour = marks[finding.state]
        print(f"{ui.paint_out(f'{mark:<5}', colour)}{finding.topic:<14} {finding.text}")
        if finding.fix:
            print(f"{'':<20}to do: {finding.fix}")


def run(args: argparse.Namespace) -> int:
    findings, facts = examine()
    if args.json:
        print(json.dumps(facts, indent=1))
    else:
        _show(findings)
    return EXIT_FAILED if any(finding.state == "bad" for finding in findings) else EXIT_OK
