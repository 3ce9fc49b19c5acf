# SPDX-License-Identifier: GPL-2.0-or-later
"""`cint clean`: remove what was built, and on request what was downloaded and measured."""

import argparse
import os
import shutil
from contextlib import nullcontext
from pathlib import Path

from cint import paths, steps, ui


def declare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Remove build/. Downloads, compiler cache and results stay, so that the "
        "next set-up needs no network and takes minutes.")
    parser.add_argument("--all", action="store_true",
                        help="also remove the cache (downloads, compiler cache, runs) and results/")
    parser.add_argument("--runs", action="store_true",
                        help="remove nothing but the store of runs in virtual time, which "
                             "compare and test take what they find in")
    parser.add_argument("-n", "--dry-run", action="store_true",
                        help="only say what would be removed")


def disk_usage(path: Path) -> int:
    """Bytes that `path` occupies on disk; links are not followed, hard links count once."""
    total = 0
    seen: set[tuple[int, int]] = set()
    for directory, _, files in os.walk(path):
        for name in (".", *files):
            try:
                facts = os.lstat(Path(directory) / name)
            except OSError:
                continue
            if (facts.st_dev, facts.st_ino) not in seen:
                seen.add((facts.st_dev, facts.st_ino))
                total += facts.st_blocks * 512
    return total


def _victims(everything: bool, runs: bool) -> list[tuple[Path, str]]:
    if runs and not everything:
        return [(paths.RUNS, "runs")] if paths.RUNS.exists() else []
    victims = [(paths.BUILD, "sources, builds, logs")]
    if everything:
        victims += [(paths.CACHE, "downloads, compiler cache, runs"), (paths.RESULTS, "results")]
    return [(path, what) for path, what in victims if path.exists()]


def run(args: argparse.Namespace) -> int:
    victims = _victims(args.all, args.runs)
    with nullcontext() if args.dry_run else steps.build_lock():
        _remove(victims, args.dry_run)
    if not (args.all or args.runs) and paths.CACHE.exists():
        ui.info(f"kept the cache in {paths.CACHE} and results/ (--all removes them too)")
    return 0


def _remove(victims: list[tuple[Path, str]], dry_run: bool) -> None:
    freed = 0
    for path, what in victims:
        with ui.Progress(f"{'measuring' if dry_run else 'removing'} {path}"):
            used = disk_usage(path)
            if not dry_run:
                shutil.rmtree(path, ignore_errors=True)
        freed += used
        verb = "would remove" if dry_run else "removed"
        ui.info(f"{verb} {paths.display(path)} ({what}): {ui.size(used)}")
    ui.info(f"{'to free' if dry_run else 'freed'}: {ui.size(freed)}" if victims
            else "nothing to remove")
