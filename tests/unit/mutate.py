#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Breaks the pure models one line at a time and runs their unit tests.

    tests/unit/mutate.py [PATTERN]

Each mutant is a copy of a file in which one piece of text is replaced. A mutant that no test
notices has survived; the exit status says whether one did. PATTERN limits the files.
"""

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "hw/nvme/model"
UNIT = ROOT / "tests/unit"

# File of hw/nvme/, and for each mutant what is replaced by what.
MUTANTS = {
    "model/arb.c": [
        ("urgent is one class of four", "arb->first[CINT_ARB_URGENT] ? CINT_ARB_URGENT :", ""),
        ("no line for each class", "arb->weighted ? sq->class : 0", "0"),
        ("a line for each class under round robin", "arb->weighted ? sq->class : 0", "sq->class"),
        ("weights 1's based", "(value >> 24 & 0xff) + 1", "(value >> 24 & 0xff)"),
        ("weights of high and low exchanged", "arb->weight[CINT_ARB_LOW] = (value >> 8",
         "arb->weight[CINT_ARB_LOW] = (value >> 24"),
        ("burst not a power of two", ": 1u << burst", ": burst"),
        ("no limit is 128", "burst == BURST_NO_LIMIT ? 1 :", ""),
        ("credit not used up", "arb->credit[line]--;", ";"),
        ("credit is added to", "memcpy(arb->credit, arb->weight, sizeof(arb->credit));",
         "for (line = 1; line < 4; line++) { arb->credit[line] += arb->weight[line]; }"),
        ("turn not used up", "if (!--arb->turn[line]) {", "if (!arb->turn[line]) {"),
        ("turn never passed", "arb->first[line] = arb->first[line]->next;", ";"),
        ("turn not renewed", "    arb->first[line] = arb->first[line]->next;\n"
         "    arb->turn[line] = arb->burst;", "    arb->first[line] = arb->first[line]->next;\n"
         "    arb->turn[line] = 1;"),
        ("first in line begins with an old turn", "sq->next = sq->prev = sq;\n"
         "        arb->turn[sq->line] = arb->burst;", "sq->next = sq->prev = sq;"),
        ("joins at the front", "    sq->prev->next = sq;\n    sq->next->prev = sq;",
         "    sq->prev->next = sq;\n    sq->next->prev = sq;\n    *first = sq;"),
        ("leaves line at the first grant", "sq->backlog > sq->granted;", "sq->backlog > 0 && "
         "!sq->granted;"),
        ("stays in line for one more", "sq->backlog > sq->granted;",
         "sq->backlog >= sq->granted && sq->backlog;"),
        ("grants beyond the backlog kept", "if (sq->granted > backlog) {", "if (0) {"),
        ("slots granted not counted", "arb->used + arb->granted >= arb->slots",
         "arb->used >= arb->slots"),
        ("one slot too many", "arb->used + arb->granted >= arb->slots",
         "arb->used + arb->granted > arb->slots"),
        ("one slot too few", "arb->used + arb->granted >= arb->slots",
         "arb->used + arb->granted + 1 >= arb->slots"),
        ("0 slots are none", "return sq->granted || !arb->slots;", "return sq->granted;"),
        ("fetches without a grant", "return sq->granted || !arb->slots;",
         "return sq->granted || !arb->slots || arb->used < arb->slots;"),
        ("a grant is good for ever", "        sq->granted--;\n        arb->granted--;\n", ""),
        ("a fetch uses no slot", "    arb->used++;\n", ""),
        ("a slot is never free again", "    arb->used--;\n", ""),
        ("a fetch leaves the backlog", "    sq->backlog--;\n", ""),
        ("no place in line after a fetch", "    sq->backlog--;\n    update_line(arb, sq);\n",
         "    sq->backlog--;\n"),
    ],
    "model/media.c": [
        ("busiest unit", "media->unit_ns[i] < media->unit_ns[best]",
         "media->unit_ns[i] > media->unit_ns[best]"),
        ("last unit never used", "i < media->params.units", "i + 1 < media->params.units"),
        ("no size", "base + scale(bytes, per_kib, 1024)", "base + 0 * scale(bytes, per_kib, 1024)"),
        ("KiB of 1000", "scale(bytes, per_kib, 1024)", "scale(bytes, per_kib, 1000)"),
        ("no jitter", " + jitter(media)", ""),
        ("jitter one-sided", " - (int64_t)range;", ";"),
        ("jitter short of its end", "% (2 * range + 1)", "% (2 * range)"),
        ("early by jitter", "return time > 0 ? time : 0;", "return time;"),
        ("latencies exchanged", "is_write ? p->write_latency_ns : p->read_latency_ns",
         "is_write ? p->read_latency_ns : p->write_latency_ns"),
        ("per-KiB exchanged", "is_write ? p->write_per_kib_ns : p->read_per_kib_ns",
         "is_write ? p->read_per_kib_ns : p->write_per_kib_ns"),
        ("bandwidth exchanged", "is_write ? p->write_bandwidth : p->read_bandwidth",
         "is_write ? p->read_bandwidth : p->write_bandwidth"),
        ("one channel", "occupy(&media->channel_ns[is_write], now,",
         "occupy(&media->channel_ns[0], now,"),
        ("idle time saved up", ".start_ns = *free_ns > now ? *free_ns : now",
         ".start_ns = *free_ns"),
        ("medium before transfer", "claim->service.end_ns > claim->transfer.end_ns ?",
         "claim->service.end_ns < claim->transfer.end_ns ?"),
        ("product wraps", "__builtin_mul_overflow(a, b, &product) || product / c > MOST_NS",
         "__builtin_mul_overflow(a, b, &product) && 0"),
        ("no most", " || product / c > MOST_NS", ""),
        ("sum wraps", "__builtin_add_overflow(span.start_ns, time, &span.end_ns)",
         "__builtin_add_overflow(span.start_ns, time, &span.end_ns) && 0"),
        ("nothing vacated", "if (span->end_ns > start) {", "if (0) {"),
        ("past time vacated", "span->start_ns > now ? span->start_ns : now", "span->start_ns"),
        ("claim kept", "&claim->transfer);\n    memset(claim, 0, sizeof(*claim));",
         "&claim->transfer);"),
        ("transfer not vacated", "vacate(&media->channel_ns[claim->is_write], now, "
         "&claim->transfer);", ""),
        ("wrong channel vacated", "vacate(&media->channel_ns[claim->is_write]",
         "vacate(&media->channel_ns[!claim->is_write]"),
        ("wrong unit vacated", "*unit = first_free_unit(media);\n    return occupy(&media->"
         "unit_ns[*unit]", "*unit = 0;\n    return occupy(&media->unit_ns[first_free_unit(media)]"),
        ("no unit vacated without units", "claim->unit < CINT_MEDIA_MAX_UNITS", "1"),
        ("claim of an earlier use", "    memset(claim, 0, sizeof(*claim));\n    if (media->params",
         "    if (media->params"),
        ("reset leaves units", "memset(media->unit_ns, 0, sizeof(media->unit_ns));", ""),
        ("reset leaves channels", "memset(media->channel_ns, 0, sizeof(media->channel_ns));", ""),
        ("seed ignored", "if (media->params.seed != params->seed) {", "if (0) {"),
        ("same seed begins anew", "if (media->params.seed != params->seed) {", "{"),
        ("profile forgets the seed", "    profile.seed = params->seed;\n", ""),
        ("none takes time", "if (media->params.profile == CINT_MEDIA_NONE) {", "if (0) {"),
        ("no minimum", "return bandwidth && bandwidth < CINT_MEDIA_MIN_BANDWIDTH;",
         "return false;"),
    ],
}

# What runs for a file: the test's own sources.
TESTS: dict[str, list[tuple[str, ...]]] = {
    "model/arb.c": [("test-arb.c", "model-arb.c")],
    "model/media.c": [("test-media.c",)],
}

SOURCES = {
    "model/arb.c": ["model/arb.c"],
    "model/media.c": ["model/media.c"],
}


def glib() -> list[str]:
    """How to compile and link against glib."""
    words = ["pkg-config", "--cflags", "--libs", "glib-2.0"]
    return shlex.split(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def survives(name: str, text: str, place: Path, flags: list[str]) -> bool:
    """Whether all tests of a file pass with `text` in its place."""
    mutant = place / Path(name).name
    mutant.write_text(text, encoding="utf-8")
    sources = [mutant if source == name else ROOT / "hw/nvme" / source for source in SOURCES[name]]
    for test in TESTS[name]:
        binary = place / "test"
        words: list[str | Path] = [
            "gcc", "-w", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
            f"-I{(ROOT / 'hw/nvme' / name).parent}", f"-I{UNIT}",
            *(UNIT / source for source in test), *sources, "-o", binary, *flags]
        subprocess.run(words, check=True)
        try:
            ran = subprocess.run([binary, "--tap"], timeout=60, check=False,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return False
        if ran.returncode:
            return False
    return True


def main() -> int:
    """Try all mutants of the files that match."""
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    flags = glib()
    tried = survived = 0
    for name, mutants in MUTANTS.items():
        if pattern not in name:
            continue
        original = (ROOT / "hw/nvme" / name).read_text("utf-8")
        for what, before, after in mutants:
            if original.count(before) != 1:
                sys.exit(f"{name}: {what}: {original.count(before)} places to change")
            tried += 1
            with tempfile.TemporaryDirectory(prefix="cint-mutant-") as place:
                if survives(name, original.replace(before, after), Path(place), flags):
                    survived += 1
                    print(f"survived: {name}: {what}")
    print(f"{tried} mutants, {survived} survived")
    return bool(survived)


if __name__ == "__main__":
    sys.exit(main())
