# SPDX-License-Identifier: GPL-2.0-or-later
"""What is mutated, how it is built, and which tests judge."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNIT = "tests/unit"
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
#: So that what passes passes again: the seed of `./cint test unit`.
SEED = ("--seed", f"R02S{1:032x}")


@dataclass(frozen=True)
class Program:
    """A test: its own sources, and its arguments."""

    name: str
    sources: tuple[str, ...]
    args: tuple[str, ...] = ("--tap", *SEED)
    #: The files that it judges; all for none.
    only: tuple[str, ...] = ()
    #: Cases that are left out: GLib can only name those that run.
    without: tuple[str, ...] = ()
    #: In place of sources: what is run at the top of the tree.
    command: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """Files that are built and judged in one way. Paths are from the top of the tree."""

    name: str
    #: Those that are mutated.
    files: tuple[str, ...]
    #: What is linked to each test.
    sources: tuple[str, ...]
    programs: tuple[Program, ...]
    flags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ("glib-2.0",)
    #: Sanitizers find what no test asks for, and take several times as long.
    sanitized: bool = False
    #: A program that the tests start in their directory: what is mutated is in it, not in them.
    started: str = ""


@cache
def flags_of(*packages: str) -> tuple[str, ...]:
    """How to compile and link against packages that pkg-config knows."""
    words = ["pkg-config", "--cflags", "--libs", *packages]
    return tuple(shlex.split(subprocess.run(words, check=True, capture_output=True,
                                            text=True).stdout))


def _in(directory: str, pattern: str) -> tuple[str, ...]:
    return tuple(str(path.relative_to(ROOT)) for path in sorted((ROOT / directory).glob(pattern)))


def _unit(name: str, *more: str) -> Program:
    """A test of tests/unit with what else it is made of."""
    return Program(name, (f"{UNIT}/test-{name}.c",
                          *(one if "/" in one else f"{UNIT}/{one}" for one in more)))


def _part(program: Program, name: str, args: tuple[str, ...], *only: str) -> Program:
    """Some of a test's cases, and the files that they judge, where they take long."""
    return replace(program, name=name, args=(*program.args, *args), only=only)


def _cases(*paths: str) -> tuple[str, ...]:
    return tuple(word for path in paths for word in ("-p", path))


ENGINE = _in("hw/nvme/coalesce", "*.c")
_MODEL = ("model.c", "model-auto.c", "model-cint.c", "model-storm.c", "model-vic.c",
          "model-waits.c")
_STORM = _unit("storm", "sim.c", "rival-storm.c")
_SETTLES = tuple(f"/storm/retune/settles{more}" for more in (
    "", "-after-a-ramp", "-when-loads-alternate"))
_WHO_WAITS = ("/random/auto", "/random/learning")
_RANDOM = _unit("random", *_MODEL, "laws.c", "random.c")
_ENGINE = Target(
    "engine", (*ENGINE, *_in("hw/nvme/coalesce", "*.h")), ENGINE,
    (_unit("rules", "sim.c"), _unit("cint", "sim.c"), _unit("kick", "sim.c"),
     _unit("vic", "sim.c"), _unit("barrier", "sim.c"), _unit("events", "sim.c"),
     _unit("head", "sim.c"), _unit("pressure", "sim.c"), _unit("params"),
     _unit("waits", "sim.c"), _unit("auto", "sim.c", "golden.c", "random.c"),
     _unit("vectors", "sim.c", "golden.c", "rival.c"),
     _unit("vic-vectors", "sim.c", "golden.c", "rival-vic.c"),
     _unit("cint-vectors", "sim.c", "golden.c", "rival-cint.c"),
     _unit("pointer", "sim.c", "golden.c", "rival-pointer.c"),
     _unit("tune", *_MODEL), _unit("any", "random.c"), _unit("adversary", "sim.c", "random.c"),
     replace(_STORM, without=_SETTLES),
     _part(_STORM, "storm-settles", _cases(*_SETTLES), "tune.c", "tune.h", "limit.c",
           "limit.h", "cint.c", "coalesce.c", "coalesce.h"),
     _part(_unit("price", "sim.c", "random.c", "replay/optimal.c"), "price", (), "price.c"),
     _part(_unit("carried", "random.c", *_in("hw/nvme/model", "*.c")), "carried", (), "carried.c",
           "carried.h", "carry.c", "carry.h", "waits.c"),
     replace(_RANDOM, without=_WHO_WAITS),
     _part(_RANDOM, "random-who-waits", _cases(*_WHO_WAITS), "waits.c", "waits.h",
           "auto.c", "coalesce.c", "coalesce.h")),
    ("-DCINT_CHECKED", "-Ihw/nvme/coalesce"))

_MODELS = tuple(
    Target(f"model-{name}", (f"hw/nvme/model/{name}.c", f"hw/nvme/model/{name}.h"),
           (f"hw/nvme/model/{name}.c",), (_unit(name, *more),),
           ("-DCINT_CHECKED", "-Ihw/nvme/model"), sanitized=True)
    for name, more in {"arb": ("model-arb.c",), "media": ()}.items())

#: Headers of the guest's kernel that know nothing of it, and their KUnit tests as programs.
KERNEL = {"drivers/nvme/host/ooo.h": "ooo", "block/blk-poll-est.h": "poll",
          "block/blk-switch-policy.h": "switch"}
_KERNELS = tuple(
    Target(f"kernel-{name}", (file,), (), (Program(name, (f"{UNIT}/test-{name}.c",), ()),),
           (f"-I{UNIT}/kernel", "-std=gnu11"), sanitized=True)
    for file, name in KERNEL.items())

_DRIVER_FLAGS = ("-D_GNU_SOURCE", "-DCINTIO_TEST", "-pthread", "-Iuserspace",
                 "-Ihw/nvme/coalesce")
_DRIVER = _in("userspace", "*.c")
#: Tests that include what they test, and so have it with another kernel.
_APART = {"bind": ("userspace/bind.c", "userspace/users.c"), "vfio": ("userspace/vfio.c",)}
_APART_FILES = tuple(file for files in _APART.values() for file in files)
_DRIVERS = (
    Target("driver", tuple(file for file in _DRIVER if file not in _APART_FILES),
           (*ENGINE, f"{UNIT}/fake-nvme.c", *_DRIVER),
           tuple(_unit(name) for name in ("command", "hostile", "userspace", "reap", "refused",
                                         "wait")),
           _DRIVER_FLAGS, sanitized=True),
    *(Target(f"driver-{name}", files, tuple(file for file in _DRIVER if file not in files),
             (_unit(name, *(("tree.c",) if name == "bind" else ())),), _DRIVER_FLAGS,
             sanitized=True)
      for name, files in _APART.items()))

_REPLAY = _in("replay", "*.c")
_PYTEST = (str(ROOT / "build/venv/bin/python"), "-m", "pytest", "-x", "-q", "-p", "replay_plugin",
           "-p", "no:cacheprovider", "-c", "tools/pyproject.toml", "--rootdir", ".")
_REPLAYS = (
    Target("replay-optimal", ("replay/optimal.c",), (*ENGINE, "replay/optimal.c"),
           (_unit("optimal", "random.c"), _unit("price", "sim.c", "random.c")),
           ("-DCINT_CHECKED", "-Ihw/nvme/coalesce")),
    Target("replay", tuple(file for file in _REPLAY if file != "replay/optimal.c"),
           (*ENGINE, *_REPLAY),
           (Program("replay", (f"{UNIT}/test-replay.c", f"{UNIT}/random.c", f"{UNIT}/sim.c",
                               *ENGINE)),
            *(Program(name, (), (), command=(*_PYTEST, f"tests/replay/test_{name}.py"))
              for name in ("words", "importers", "lives", "timelines")),
            Program("vectors", (), (), command=(*_PYTEST, "tests/replay/test_replay.py")),
            Program("threads", (), (), only=("crew.c", "lane.c", "options.c", "output.c"),
                    command=(*_PYTEST, "tests/replay/test_threads.py", "-k", "not sanitizer"))),
           ("-DCINT_CHECKED", "-Ihw/nvme/coalesce", "-pthread",
            "-DCINT_REPLAY=\"./cint-replay\""), started="cint-replay"))

TARGETS = (_ENGINE, *_MODELS, *_KERNELS, *_DRIVERS, *_REPLAYS)
