# SPDX-License-Identifier: GPL-2.0-or-later
"""fio job texts: the built-in workloads and a person's own job file.

``runtime`` and ``ramp_time`` here are reported seconds; the texts carry the
applied ones (multiplied by the CPU scale, see scale.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cint import paths, units
from cint.device import scale
from cint.errors import UsageError
from cint.measure import edges, fiojson
from cint.measure.apps import App

DEVICE_NODE = "/dev/nvme0n1"
DEFAULT_WORKLOADS = "sync,async,mixed"
MAX_JOB_FILE = 64 * 1024

# The two commands report the CPU's time at the edges of the jobs proper, on
# fio's own standard output: fio's start and end wait and would dilute it.
# (In a fio job file ';' and '#' begin a remark, and ${X} is fio's own.)
# The parentheses are for the redirection that fio adds. vclock, in the guest's image,
# prints the time and the instructions so far; it is run next to the job.
_LOOK = "cint-{name} $(cat /proc/uptime) $(head -n1 /proc/stat)"
EDGE = {
    "pre": f"({{before}}echo {_LOOK} vclock $(vclock) >>/proc/$PPID/fd/1)",
    "post": f"(c=$(vclock) && echo {_LOOK} vclock $c >>/proc/$PPID/fd/1)",
}


def _edge(name: str, before: str = "") -> str:
    return EDGE[name].format(name=name, before=before)


#: The job files that fio can run without this tool: what they have in common, and BUILT_IN.
JOBS = paths.ROOT / "jobs"


def _lines_of(name: str) -> list[str]:
    """The lines of one of them, without remarks and blank ones."""
    text = (JOBS / f"{name}.fio").read_text("utf-8")
    return [line for line in text.splitlines() if line and not line.startswith(";")]


_COMMON = _lines_of("common")
#: How each of the others begins.
_HEAD = "[global]\ninclude common.fio\n"


def common(runtime: str | None, ramp: str | None, *, seed: int | str | None = 1,
           filename: str = "${DEVICE}", rw: str | None = "randread", bs: str | None = "4k",
           cpus: str | None = "0", more: str = "") -> str:
    """The section [global] of all our jobs; ``runtime`` and ``ramp`` are fio's, with units.

    What is None has no line: a job says it, or fio's own default stands. Without a runtime a job
    ends with its reads.
    """
    said = {"filename": filename, "rw": rw, "bs": bs, "runtime": runtime, "ramp_time": ramp,
            "randseed": seed, "cpus_allowed": cpus}
    kept = [line for line in _COMMON if runtime is not None or line != "time_based"]
    return f"[global]\n{''.join(_said(line, said) for line in kept)}{more}"


def _said(line: str, said: Mapping[str, int | str | None]) -> str:
    """The line with what is said of its option, which may be that it has none."""
    option = line.partition("=")[0]
    if option not in said:
        return f"{line}\n"
    return "" if said[option] is None else f"{option}={said[option]}\n"


def _filled(cpus: str | None = "0") -> str:
    """The same for the workloads here, which render() fills in."""
    return common("{runtime_us}us", "{ramp_us}us", seed="{seed}", filename="{device}", cpus=cpus,
                  more="exec_prerun={pre}\nexec_postrun={post}\n")


COMMON = _filled()
#: The engine of an asynchronous job.
LIBAIO = "ioengine=libaio\n"
#: Where the guest's kernel takes hints: nobody waits for any one of these reads.
#: Without it each would be the last of a batch of one, and a Barrier.
UNMARKED = "ioengine=hint_libaio\nhint=unmarked\n"


def sync_job(name: str = "sync") -> str:
    """J-SYNC(1): the section of a thread that reads and waits."""
    return f"[{name}]\nioengine=psync\niodepth=1\n"


def async_job(depth: int, submit: int, complete: int, engine: str = LIBAIO, *,
              name: str = "async") -> str:
    """J-AIO(depth, submit, complete), in the experiments' notation; ``engine`` is lines of it."""
    most = depth if complete == 1 else complete
    return (f"[{name}]\n{engine}iodepth={depth}\niodepth_batch_submit={submit}\n"
            f"iodepth_batch_complete_min={complete}\niodepth_batch_complete_max={most}\n")


# A thread that waits tells the scheduler so, with a short slice. Without it EEVDF
# may let the other thread submit a burst before it runs the one that has woken up.
# The job's thread has started the shell, whose number is $$.
SLICE_NS = 100_000
SLICED_SYNC = sync_job() + "exec_prerun={sliced_pre}\n"
SLICE = "slice $PPID/$$ {ns} && "
# A process of SCHED_RR.
REAL_TIME = "slice $PPID rr && "
# The same for the threads of a process whose I/O is of the realtime class.
REAL_TIME_THREADS = "slice $PPID rr-io && "


#: For jobs that may run on any CPU: where they do is what steering changes.
ANYWHERE = _filled(cpus=None)


def _sections(name: str, edge: Mapping[str, str] | None = None, engine: str = LIBAIO) -> str:
    """The jobs of one of our files; ``edge`` has what is run before some of them, by job."""
    text = "".join(f"{line}\n" for line in _lines_of(name)).removeprefix(_HEAD)
    for job, before in (edge or {}).items():
        text = re.sub(rf"(\[{job}\]\n[^\[]*)", rf"\1exec_prerun={{{before}}}\n", text)
    return text.replace(LIBAIO, engine)


@dataclass(frozen=True)
class Workload:
    """A fio job file and what the tables call it.

    ``latency_job`` names the job whose latency speaks for the workload (None:
    all jobs together); ``split`` asks for a table row for each job.
    ``marked`` is the job file for guests whose kernel takes hints, where it is
    another one (see :func:`for_guest`).
    """

    name: str
    title: str
    template: str
    latency_job: str | None = None
    split: bool = False
    own: bool = False
    marked: str | None = None
    #: Whether it is counted at the edges of its jobs, for which fio starts a script.
    edges: bool = False
    #: A person's own program, in place of fio.
    app: App | None = None
    #: A person's own file, which says itself how long its jobs run.
    file: Path | None = None
    #: Jobs of a person's own that had to be called otherwise, and how they are called.
    renamed: tuple[tuple[str, str], ...] = ()


#: fio's engines that the user-space driver's takes the place of, and what it says of their I/Os as
#: the guest's kernel does: of those of a thread that waits for each, and of a batch.
_KERNEL_ENGINES = {**dict.fromkeys(("psync", "sync", "vsync", "pvsync", "pvsync2", "hint_psync"),
                                   "urgent"),
                   **dict.fromkeys(("libaio", "io_uring", "posixaio", "hint_libaio",
                                    "hint_io_uring"), "barrier")}
_IOENGINE = re.compile(r"^\s*ioengine\s*=\s*(\S+)\s*$")
_HINT = re.compile(r"^\s*hint\s*=\s*(\S+)\s*$")
#: Options that only engines of the kernel have, or that only a process can do.
_NOT_OURS = re.compile(r"^\s*(hipri|thread|hint)\b")
#: The user-space driver's engine looks at the clock itself.
_LOOKS = re.compile(r"^exec_(pre|post)run=\{\w+\}$")


def driven_text(text: str, options: str, hints: bool) -> str:
    """A job text for the user-space driver: ``options`` are those of its engine for each job.

    All of its jobs are threads, as one process has the controller; depth and batches stay.
    """
    sections: list[list[str]] = [[]]
    for line in text.splitlines():
        if _LOOKS.match(line) and "sliced" not in line:
            continue
        if line.lstrip().startswith("["):
            sections.append([])
        sections[-1].append(line)
    return "\n".join("\n".join(_driven_section(s, options, hints)) for s in sections if s) + "\n"


def _driven_section(lines: Sequence[str], options: str, hints: bool) -> list[str]:
    found = [m[1] for line in lines if (m := _IOENGINE.match(line))]
    if not found or found[-1] not in _KERNEL_ENGINES:
        return list(lines)
    said = [m[1] for line in lines if (m := _HINT.match(line)) and m[1] != "default"]
    hint = (said or [_KERNEL_ENGINES[found[-1]]])[-1] if hints else "unmarked"
    kept = ["slice_ns={slice_ns}" if _LOOKS.match(line) else line for line in lines[1:]
            if not _IOENGINE.match(line) and not _NOT_OURS.match(line)]
    return [lines[0], "ioengine=cintio", "thread=1", *options.splitlines(), *kept, f"hint={hint}"]


def check_driven(workload: Workload) -> None:
    """Refuse, by UsageError, a job file that the user-space driver cannot have."""
    if not workload.own:
        return
    found = {m[1] for line in workload.template.splitlines() if (m := _IOENGINE.match(line))}
    if not found & set(_KERNEL_ENGINES):
        raise UsageError(f"--engine user: {workload.title}: no job has an ioengine that can be "
                         f"replaced; these can: {', '.join(_KERNEL_ENGINES)}")
    if "${DEVICE}" not in workload.template:
        raise UsageError(f"--engine user: {workload.title}: the namespace is not called "
                         "${DEVICE}, so that it cannot be another")


_PSYNC = re.compile(r"^(\s*)ioengine\s*=\s*psync\s*$", re.MULTILINE)


def polled(workload: Workload) -> Workload:
    """The workload with threads that wait for their reads by pvsync2, which may be polled for.

    In a comparison that polls every row has it, so that only what the kernel does differs.
    """
    marked = workload.marked
    return replace(workload, template=_polled(workload.template),
                   marked=None if marked is None else _polled(marked),
                   title=workload.title.replace("psync", "pvsync2, hipri"))


def _polled(text: str) -> str:
    return _PSYNC.sub(r"\1ioengine=pvsync2\n\1hipri=1", text)


def for_guest(workload: Workload, takes_hints: bool) -> Workload:
    """The workload as this guest's kernel can run it."""
    if workload.marked is None or not takes_hints:
        return replace(workload, marked=None)
    return replace(workload, template=workload.marked, marked=None)


_SLICED = {"sync": "sliced_pre"}

BUILT_IN: dict[str, Workload] = {w.name: w for w in (
    Workload("sync", "psync 4k random reads, depth 1", COMMON + _sections("sync")),
    Workload("async", "libaio 4k random reads, depth 256 in batches of 16",
             COMMON + _sections("async")),
    # cinterrupts' Figure 10
    Workload("mixed", "the sync job (slice 0.1 ms) and libaio 4k random reads at depth 16, one CPU",
             COMMON + _sections("mixed", _SLICED), latency_job="sync", split=True,
             marked=COMMON + _sections("mixed", _SLICED, UNMARKED)),
    # blk-switch's L and T; those that wait are processes of SCHED_RR
    Workload("classes", "two psync 4k readers of the realtime class, two libaio 64k in batches",
             ANYWHERE + _sections("classes", {"latency": "rr_pre"}), latency_job="latency",
             split=True),
)}


def parse(name: str) -> Workload:
    """One of them; :class:`UsageError` names what is valid."""
    if name not in BUILT_IN:
        raise UsageError(f"unknown workload '{name}'{units.suggestion(name, BUILT_IN)}; "
                         f"valid: {', '.join(BUILT_IN)}, "
                         "or --job JOB or --fio JOBFILE for your own")
    return BUILT_IN[name]


# ---- a person's own job file -------------------------------------------

_OPTION = re.compile(r"^(\s*)([a-z0-9_]+)(\s*=\s*)(.*?)(\s*)$")
#: fio's own units of rates; a number without one has that of its option.
_RATES = {f"{prefix}{unit}": factor for unit in ("", "b", "ib")
          for prefix, factor in {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}.items()}
_HAS_EDGES = re.compile(r"^\s*exec_(pre|post)run\s*=", re.MULTILINE)
# Refused: they would send the guest's results somewhere the tool cannot see,
# or reach for something that is not in the guest.
_REFUSED = ("output", "output-format", "client", "remote-config", "read_iolog")


#: What --job decides itself, and what of it another option says.
_JOB_FIXED = {"rw": "the word before the colon", "readwrite": "the word before the colon",
              "runtime": "--runtime", "timeout": "--runtime", "filename": "always the namespace",
              **dict.fromkeys(_REFUSED, "nothing that can be used here")}
JOB_HELP = ("a job without a file: fio's rw, a colon, options of its job files: "
            "randread:bs=16k,iodepth=32 (default: bs=4k; psync at iodepth 1, else libaio); may be "
            "repeated")


def parse_job(text: str, timing: Timing) -> Workload:
    """``randread:bs=16k,iodepth=32``, fio's rw and options of its job files, as a workload.

    The times are reported ones. What fio does not know is fio's to refuse. Raises
    :class:`UsageError` where it does not begin with rw.
    """
    rw, _, rest = text.partition(":")
    if not re.fullmatch(r"[a-z]+", rw):
        raise UsageError(f"--job {text}: begins with fio's rw, such as randread, write or randrw")
    options = {"bs": "4k", "iodepth": "1"} | _job_options(text, rest)
    options.setdefault("ioengine", "psync" if options["iodepth"] == "1" else "libaio")
    name = re.sub(r"[^A-Za-z0-9.]+", "-", text.replace("=", "")).strip("-")
    base = common(f"{round(timing.runtime_s * 1e6)}us", f"{round(timing.ramp_s * 1e6)}us",
                  seed=None, rw=None, bs=None, cpus=None)
    lines = "".join(f"{option}={value}\n" for option, value in options.items())
    job, renamed = _rename(f"{base}[{name}]\nrw={rw}\n{lines}", f"--job {text}")
    return Workload(name, f"{options['ioengine']} {text}", job, own=True, edges=True,
                    renamed=renamed)


def _job_options(text: str, rest: str) -> dict[str, str]:
    """The part behind the colon."""
    options: dict[str, str] = {}
    for word in rest.split(",") if rest else ():
        option, _, value = word.partition("=")
        if not re.fullmatch(r"[a-z0-9_-]+", option) or not value.strip():
            raise UsageError(f"--job {text}: '{word}' is not OPTION=VALUE, as in fio's job files; "
                             "what has commas needs a file: --fio")
        if option in _JOB_FIXED:
            raise UsageError(f"--job {text}: '{option}': {_JOB_FIXED[option]}")
        if option in options:
            raise UsageError(f"--job {text}: '{option}' is given twice")
        options[option] = value
    return options


def _places(text: str) -> dict[str, str]:
    """The jobs of a job file, and what each is to read or write; empty where it does not say."""
    found: dict[str, str] = {}
    usual, section = "", "global"
    for line in text.splitlines():
        head = re.match(r"\s*\[([^\]]+)\]", line)
        option = _OPTION.match(line)
        if head:
            section = head[1]
            if section.lower() != "global":
                found[section] = usual
        elif option and option[2] == "filename" and section.lower() == "global":
            usual = option[4]
        elif option and option[2] == "filename":
            found[section] = option[4]
    return found


def _check_places(path: Path, text: str) -> None:
    """Refuse what is not in the guest: other files than the namespace, variables, job files."""
    for job, place in _places(text).items():
        if not place.startswith(("${DEVICE}", "/dev/nvme")):
            what = f"'{place}'" if place else "nothing"
            raise UsageError(f"--fio {path}: [{job}] has {what} as its filename",
                             hint="the guest has one drive and no files: filename=${DEVICE}")
    for line in text.splitlines():
        if found := re.match(r"[^#;]*(\$\{(?!DEVICE\})\w*\}|^\s*include\s+\S+)", line):
            raise UsageError(f"--fio {path}: '{found[1].strip()}' is not in the guest")


# Where a job of a file is named, and what of a name a shell takes as it is.
_NAME = re.compile(r"^(\s*(?:\[|(?:name|wait_for)\s*=\s*))([^\]\n]+?)(\s*(?:\].*)?)$", re.MULTILINE)
_STRANGE = re.compile(r"[^\w.+:@%=,-]+")


def _rename(text: str, given: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The job file with names that a shell takes as they are, and what became of the others.

    fio has a shell write what the script at a job's edges says into a file of the job's name. Of a
    name with a blank it would have no edge, and with a quote or a slash the job would not begin.
    """
    names = {found[2] for found in _NAME.finditer(text)}
    renamed = {name: _STRANGE.sub("-", name) for name in sorted(names) if _STRANGE.search(name)}
    for name, new in renamed.items():
        if new in names or list(renamed.values()).count(new) > 1:
            raise UsageError(f"{given}: the job '{name}' would be called '{new}', as another one",
                             hint="give it a name of letters, digits and . _ -")
    return _NAME.sub(lambda found: f"{found[1]}{renamed.get(found[2], found[2])}{found[3]}",
                     text), tuple(renamed.items())


_VERIFY = re.compile(r"^\s*verify\s*=\s*(?!null\b)(\S+)", re.MULTILINE)


def check_kept(workload: Workload) -> None:
    """Refuse, by UsageError, a job that reads what it wrote where nothing is kept."""
    if found := _VERIFY.search(workload.template):
        raise UsageError(f"{workload.name}: verify={found[1]}: the namespace keeps nothing that is "
                         "written", hint="give it a file: --drive FILE")


def load_job_file(name: str | Path) -> Workload:
    """Read a fio job file, whose jobs are on ${DEVICE}; :class:`UsageError` of all others."""
    path = Path(name)
    text = paths.text_of(path, f"--fio {path}")
    if len(text) > MAX_JOB_FILE:
        raise UsageError(f"--fio {path}: larger than {MAX_JOB_FILE // 1024} KiB")
    sections = re.findall(r"^\s*\[([^\]]+)\]", text, re.MULTILINE)
    if all(s.lower() == "global" for s in sections):
        raise UsageError(f"--fio {path}: no job section; a fio job file has lines such as [job1]")
    for line in text.splitlines():
        option = _OPTION.match(line)
        if option and option[2] in _REFUSED:
            raise UsageError(f"--fio {path}: the option '{option[2]}' cannot be used here")
    _check_places(path, text)
    called = re.sub(r"[^A-Za-z0-9.]+", "-", path.stem).strip("-") or "job"
    jobs = sum(s.lower() != "global" for s in sections)
    counted = not _HAS_EDGES.search(text)
    text, renamed = _rename(text, f"--fio {path}") if counted else (text, ())
    return Workload(called, f"{path.name} ({jobs} job{'s' * (jobs != 1)})", text,
                    split=len(set(sections) - {"global"}) > 1, own=True, file=path,
                    edges=counted, renamed=renamed)


_RUNTIME = re.compile(r"^\s*(runtime|timeout)\s*=.*\n?", re.MULTILINE)
_SECTION = re.compile(r"^(\s*\[[^\]]+\].*)$", re.MULTILINE)


def lasting(workload: Workload, seconds: float) -> Workload:
    """A person's own job file with another runtime in each section, in reported seconds."""
    text = _RUNTIME.sub("", workload.template)
    runtime = f"runtime={round(seconds * 1e6)}us"
    return replace(workload, template=_SECTION.sub(rf"\1\n{runtime}", text))


def _scale_time(value: str, default_unit: str, k: float) -> str | None:
    factors = {**fiojson.SECONDS, "": fiojson.SECONDS[default_unit]}
    seconds = units.quantity(value.lower().replace(" ", ""), factors)
    return None if seconds is None else f"{round(seconds * 1e6 * k)}us"


def _scale_rate(value: str, k: float) -> str | None:
    parts = []
    for part in value.lower().split(","):
        rate = units.quantity(part.strip(), _RATES)
        if part.strip() and rate is None:
            return None
        parts.append("" if rate is None else str(max(1, round(rate / k))))
    return ",".join(parts)


def _scale_option(name: str, value: str, k: float) -> str | None:
    """The applied value of a fio option, or None when it stays as it is."""
    row = scale.entry("fio", name)
    if row is None:
        return None
    if row.kind is scale.Kind.TIME:
        return _scale_time(value, row.unit, k)
    return _scale_rate(value, k)


def scale_job_text(text: str, k: float) -> tuple[str, list[str]]:
    """Scale every option of the table in a fio job text.

    Returns the new text and one remark for each line changed.
    """
    if k == 1:
        return text, []
    lines: list[str] = []
    remarks: list[str] = []
    for line in text.splitlines():
        match = _OPTION.match(line)
        value = _scale_option(match[2], match[4], k) if match else None
        if match is None or value is None:
            lines.append(line)
            continue
        remarks.append(f"{match[2]}={match[4]} -> {value}")
        lines.append(f"{match[1]}{match[2]}={value}")
    return "\n".join(lines) + "\n", remarks


@dataclass(frozen=True)
class Timing:
    """Reported seconds of one job, and the seed of its random numbers."""

    runtime_s: float
    ramp_s: float
    seed: int = 1


def render(workload: Workload, timing: Timing, k: float, device: str = DEVICE_NODE) -> str:
    """The job text that the guest's fio is given, or a program's commands."""
    if workload.app:
        return workload.app.run
    if workload.own:
        text = scale_job_text(workload.template.replace("${DEVICE}", device), k)[0]
        return _added(workload, timing) + text
    slice_ns = scale.apply_int("guest", "sched_runtime", SLICE_NS, k)
    sliced = SLICE.format(ns=slice_ns)
    return workload.template.format(
        device=device, seed=timing.seed, slice_ns=slice_ns,
        pre=_edge("pre"), post=_edge("post"), sliced_pre=_edge("pre", sliced),
        rr_pre=_edge("pre", REAL_TIME), rr_io_pre=_edge("pre", REAL_TIME_THREADS),
        runtime_us=round(scale.apply("fio", "runtime", timing.runtime_s, k) * 1e6),
        ramp_us=round(scale.apply("fio", "ramp_time", timing.ramp_s, k) * 1e6))


def look(when: str) -> str:
    """A shell's words that print the CPUs' accounts at an edge, ``pre`` or ``post``."""
    return _LOOK.format(name=when)


def of_app(app: App) -> Workload:
    """A person's own program as a workload."""
    return Workload(app.name, app.title, app.run, app=app)


def _added(workload: Workload, timing: Timing) -> str:
    """What stands before a person's own job file; its own options come later and win."""
    if not workload.edges:
        return ""
    return f"[global]\nrandseed={timing.seed}\n{edges.fio_options()}\n"


def runtime_s(workload: Workload, timing: Timing) -> float | None:
    """How long its longest job runs, in reported seconds; None where its file does not say."""
    if workload.app:
        return None
    if not workload.own:
        return timing.runtime_s
    found = re.findall(r"^\s*(?:runtime|timeout)\s*=\s*(\S+)", workload.template, re.MULTILINE)
    seconds = [_scale_time(value, "s", 1) for value in found]
    return max((int(one[:-2]) / 1e6 for one in seconds if one), default=None)


def guest_seconds(workload: Workload, timing: Timing, k: float) -> float:
    """How long the job takes in the guest, in guest seconds (an estimate)."""
    if workload.app:
        return float(workload.app.limit_s)
    if not workload.own:
        return (timing.runtime_s + timing.ramp_s) * k
    text = scale_job_text(workload.template, k)[0]
    total = 0.0
    for name in ("runtime", "timeout", "ramp_time", "startdelay"):
        found = re.findall(rf"^\s*{name}\s*=\s*(\S+)", text, re.MULTILINE)
        seconds = [_scale_time(v, "s", 1) for v in found]
        total += max((int(s[:-2]) / 1e6 for s in seconds if s), default=0.0)
    return total or 60.0
