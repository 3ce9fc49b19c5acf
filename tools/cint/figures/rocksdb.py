# SPDX-License-Identifier: GPL-2.0-or-later
"""RocksDB in figures: how db_bench is called, what it tells, and who marks what RocksDB does.

The paper changed RocksDB's sources. Here the preload library marks its calls by rules, in all runs
alike: where nothing is to be changed its rules say so, and what it costs to look at each call is
the same.
"""

from __future__ import annotations

from cint import paths
from cint.figures.model import Run
from cint.guest import hints

#: As in the paper's runs: adaptive waits for as long as is best with the drive.
ADAPTIVE, CINT = "adaptive:delta=6us,thr=32", "cint:delta=15us,thr=32"
#: The run in which what nobody waits for is unmarked.
ANNOTATED = "app-cint"

#: What it prints goes to /tmp/out, or to standard error if it fails.
_COMMAND = """\
db_bench --benchmarks={load} {options} --compression_type=none --histogram=1 --seed=$SEED \\
    > /tmp/out 2>&1 || {{ cat /tmp/out >&2; exit 1; }}
"""
#: Its own histogram has how long an operation took, and its mean.
_TOLD = """\
awk '
  $1 == "{load}" {{ print "cint-metric throughput", $5, "1/s" }}
  /^Microseconds per/ {{ wanted = $3 == "{operation}:" }}
  wanted && $1 == "Count:" {{
    print "cint-metric count", $2
    print "cint-metric mean", $4, "us"
  }}
  wanted && $1 == "Percentiles:" {{
    print "cint-metric p50", $3, "us"
    print "cint-metric p99", $7, "us"
  }}' /tmp/out
"""


def bench(load: str, options: str) -> str:
    """A shell's commands for one of db_bench's benchmarks."""
    return _COMMAND.format(load=load, options=options)


def told(load: str, operation: str) -> str:
    """Commands that tell its throughput and how long an operation (read, write) took."""
    return _TOLD.format(load=load, operation=operation)


def _by_rules(policy: str, name: str, rules: str) -> Run:
    return Run(policy, name, who=f"{hints.PRELOAD}{paths.ROOT / 'apps' / rules}.rules")


#: cint comes as the kernel marks, and with apps/background.rules.
RUNS = (_by_rules("default", "default", "usual"), _by_rules(ADAPTIVE, "adaptive", "usual"),
        _by_rules(CINT, "cint", "usual"), _by_rules(CINT, ANNOTATED, "background"))
