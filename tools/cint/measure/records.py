# SPDX-License-Identifier: GPL-2.0-or-later
"""results.json, field by field: what is written, what is read back, and its JSON Schema.

A field is a line here; docs/results.schema.json is made from these classes (schema.py,
`./cint docs tables`). What stands beside a type is the field's description, or more of its
schema. Fields are only added while ``schema`` stays the same number; one that older results do
not have is NotRequired.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NotRequired, TypedDict

from cint.device import scale

#: Null: not known, or has no meaning here.
Value = float | None
Property = int | str
_NOT_EMPTY = {"minItems": 1}


class Tool(TypedDict):
    """This program."""

    version: str


class Host(TypedDict):
    """The machine that ran it."""

    cpu: str
    cpus: int
    kernel: str
    memory_mib: int


class Versions(TypedDict):
    """The versions that ran."""

    qemu: str
    kernel: str
    fio: str
    image: Mapping[str, object]


class Accel(TypedDict):
    """How the guest's instructions were run."""

    name: Annotated[str, {"enum": ["tcg", "kvm"]}]
    cpu: NotRequired[str]
    reason: str


class Scale(TypedDict):
    """The CPU scale."""

    k: Annotated[float, {"exclusiveMinimum": 0}, "the factor of the table: cpu_scale in virtual "
                                                 "time, 1 in real time"]
    cpu_scale: float
    table: list[scale.Scaled]


class IrqCost(TypedDict):
    """The cost of an interrupt for the guest."""

    reported_ns: int
    applied_ns: int
    in_force: Annotated[bool, "read back from the guest's kernel"]


class Calibration(TypedDict):
    """The calibration."""

    proposal: NotRequired[Annotated[Mapping[str, float],
                                    "the tree's calibrated pair (cpu_scale, irq_cost_ns)"]]


class Parameters(TypedDict):
    """The parameters as asked for, reported times."""

    media: Mapping[str, object]
    guest: NotRequired[Annotated[str, {"enum": ["cint", "distro"]},
                                 "distro: the distribution's own kernel"]]
    hints: NotRequired[Annotated[bool, "false: the guest's driver gives the device no hints, and "
                                       "under cint it infers them"]]
    polling: NotRequired[Annotated[bool, "true: some policies poll, and all jobs read by pvsync2 "
                                         "with hipri in place of psync"]]
    vcpus: int
    runtime_s: float
    auto_error: NotRequired[Annotated[float, "runs ended before runtime_s where blocks of them "
                                             "agreed so far, as a share of the mean"]]
    ramp_s: float
    repeat: Annotated[int, "boots of each policy"]
    seeds: NotRequired[Annotated[list[int], "of each repeat's random numbers"]]
    extras: NotRequired[str]
    drive: str | None
    device_opts: str


class Latency(TypedDict):
    """The policy of the queues for the realtime class."""

    name: str
    kind: str
    properties: Mapping[str, Property]
    applied: Mapping[str, Property]


class Policy(TypedDict):
    """The policy of a row of the table."""

    name: str
    kind: str
    label: str
    polling: NotRequired[Annotated[str, "mode of --polling; its word follows the policy's in the "
                                        "name, unless it is off"]]
    engine: NotRequired[Annotated[str, "of --engine; its word follows the policy's in the name, "
                                       "unless it is kernel"]]
    steering: NotRequired[Annotated[str, "mode of --steering; its word follows the policy's in "
                                         "the name, unless it is off"]]
    hints: NotRequired[Annotated[str, "who gives hints: on, off, or module, whose word follows "
                                      "the policy's in the name"]]
    latency: NotRequired[Annotated[Latency | None, "the policy of queues for the realtime class, "
                                                   "where it is another one (split)"]]
    properties: Annotated[Mapping[str, Property], "reported values"]
    applied: Annotated[Mapping[str, Property], "what -device nvme was given"]
    qemu: Annotated[list[str], "exact command line"]
    boot_wall_s: float
    first_io_s: Value
    facts: Mapping[str, object]
    kernel_trouble: list[str]


class App(TypedDict):
    """A person's own program."""

    file: str
    packages: list[str]
    release: str
    run: str
    filesystem: str
    prepare: str


class Group(TypedDict):
    """Jobs that run side by side."""

    of: str
    number: int
    groups: int
    jobs: list[str]


class Workload(TypedDict):
    """The work of the guests."""

    name: str
    title: str
    latency_job: str | None
    fio: Annotated[str, "the job file as the guest had it; empty for a program"]
    app: NotRequired[Annotated[App, "only of a person's own program (--app)"]]
    scaled: list[str]
    group: NotRequired[Annotated[Group, "only of a fio file whose jobs run in several groups"]]


class RowClass(TypedDict):
    """A class of I/O in a row."""

    commands: int
    bytes: int
    wait_us: Annotated[Value, "from doorbell to fetch, the mean"]
    interrupts: int
    ios_per_irq: Value


class Said(TypedDict):
    """A number that a program told."""

    value: float
    unit: str
    ratio: Value


class Agreement(TypedDict):
    """How far ten blocks of a row's runs agreed, each with the others (--runtime auto)."""

    agreed: Annotated[int, "repeats that ended by it; the others went on to the end"]
    longest_s: Annotated[float, "of the repeats, reported"]
    error: Annotated[Value, "the largest, as a share of the mean: of I/Os a second or the mean "
                            "latency, half the width of the interval that has it with 95 %, or "
                            "the difference of both halves; null: a run was too short for blocks"]


class Row(TypedDict):
    """A policy in a workload, or in one of its jobs; besides these it has every metric."""

    policy: str
    engine: NotRequired[Annotated[str, {"enum": ["kernel", "user"]},
                                  "who drove the controller: the guest's kernel, or a process "
                                  "over VFIO"]]
    workload: Annotated[str, "of a fio file whose jobs run in several groups: its name, / and the "
                             "group's number"]
    job: Annotated[str | None, "null: the whole workload"]
    spread: Annotated[Value, "(max - min) / median of the repeats' IOPS"]
    range: NotRequired[Annotated[Mapping[str, tuple[float, float]],
                                 "smallest and largest value of the repeats, by metric; empty "
                                 "without repeats"]]
    beyond: NotRequired[Annotated[Mapping[str, int], "how many I/Os of all repeats are larger "
                                                     "than each percentile"]]
    repeats: NotRequired[Annotated[int, "boots that the row is made of"]]
    window_s: NotRequired[Annotated[Value, "how long all jobs of the group ran, which rates are "
                                           "of; reported"]]
    even: NotRequired[Annotated[bool, "false: some jobs ran longer than others"]]
    ratios: Mapping[str, Value]
    reasons: Annotated[Mapping[str, int], "interrupts by reason, last repeat"]
    hints: NotRequired[Annotated[Mapping[str, int], "completed commands by hint (none, urgent, "
                                                    "barrier, both), last repeat"]]
    classes: NotRequired[Annotated[Mapping[str, RowClass],
                                   "by class of I/O (l: realtime, t: all other) what the device "
                                   "counted, last repeat; empty where the guest has no queues "
                                   "for each"]]
    agreement: NotRequired[Annotated[Agreement, "only where runs could end by it"]]
    said: NotRequired[Annotated[Mapping[str, Said], "only of a person's own program: what it "
                                                    "told, by name, in reported time"]]
    lateness: NotRequired[Annotated[Mapping[str, Value],
                                    "from an interrupt's deadline to the interrupt, reported us, "
                                    "all repeats (count, mean_us, p50_us, p99_us, max_us); "
                                    "empty: no deadline passed; percentiles are upper bounds"]]


class Window(TypedDict):
    """The time in which all jobs of a group ran."""

    seconds: float
    even: bool
    rates: Annotated[Mapping[str, float], "I/Os per guest second, by job"]
    total: NotRequired[Annotated[float, "those of all jobs while any ran, if some had ended before "
                                        "others began"]]


class Hist(TypedDict):
    """A distribution."""

    count: int
    sum_ns: int
    max_ns: int
    p50_ns: Value
    p99_ns: Value
    buckets: Annotated[list[int], "bucket 0 counts 0 ns, bucket b counts from 2^(b-1) to below "
                                  "2^b ns"]


class DeviceClass(TypedDict):
    """A class of I/O as the device counted it."""

    commands: int
    bytes: int
    wait_ns: Value
    cqes: int
    interrupts: int


class Device(TypedDict):
    """The device's counts."""

    cqes: int
    interrupts: int
    mean_hold_ns: Value
    mean_post_to_head_ns: NotRequired[Annotated[Value, "from a CQE's post until the guest has "
                                                       "consumed it, by interrupt or by polling"]]
    avoided: NotRequired[Annotated[int, "interrupts that were put off until the guest had "
                                        "consumed everything"]]
    untold: NotRequired[Annotated[int, "CQEs that the guest consumed before any interrupt told "
                                       "of them"]]
    mean_lateness_ns: NotRequired[Annotated[Value, "from an interrupt's deadline to the "
                                                   "interrupt"]]
    lateness: NotRequired[Annotated[Hist, "its distribution; percentiles are upper bounds, and so "
                                          "is max_ns when an earlier job of the same boot had a "
                                          "larger value"]]
    reasons: Mapping[str, int]
    urgent_interrupts: NotRequired[Annotated[int, "those of the urgent class, which announce "
                                                  "Urgent entries only"]]
    hints: NotRequired[Annotated[Mapping[str, int], "completed commands by hint"]]
    sources: NotRequired[Annotated[Mapping[str, int], "those with a hint by where it came from: "
                                                      "cdw0, cdw13, inferred"]]
    classes: NotRequired[Annotated[Mapping[str, DeviceClass],
                                   "by class of I/O; empty where the guest has no queues for "
                                   "each"]]


class Job(TypedDict):
    """A job as fio counted it."""

    ios: int
    iops: float
    mean_ns: float
    runtime_ms: int
    usr_percent: NotRequired[float]
    sys_percent: NotRequired[float]
    bins: Annotated[list[tuple[int, int]], "[ns, I/Os]"]


class SampleAgreement(TypedDict):
    """How far ten blocks of a run agreed, each with the others."""

    agreed: Annotated[bool, "false: it went on to its end"]
    seconds: Annotated[float, "in which all jobs ran"]
    errors: Annotated[Mapping[str, Value], "by job, as a share of the mean"]


class Sample(TypedDict):
    """One boot of a policy in a workload: guest time, nothing converted."""

    policy: str
    workload: str
    repeat: int
    seed: NotRequired[int | None]
    group: NotRequired[Annotated[int, "of jobs that ran together, from 1"]]
    block_ios: NotRequired[Annotated[int | None, "I/Os that the guest's block device ended while "
                                                 "interrupts were counted"]]
    window: NotRequired[Annotated[Window | None, "the time in which all jobs of the group ran"]]
    elapsed_s: float
    guest_interrupts: Annotated[int | None, "null: not known of this group of jobs by itself"]
    cpu_share: Value
    device: Device | None
    jobs: Mapping[str, Job]
    agreement: NotRequired[Annotated[SampleAgreement, "only where it could end by that"]]
    said: NotRequired[Mapping[str, Mapping[str, object]]]


class BestTimer(TypedDict):
    """The timer that was the best in a workload."""

    workload: str
    policy: str


class Timer(TypedDict):
    """A timer of the sweep of static:time=best."""

    typed: str
    by: Annotated[str, {"enum": ["iops", "latency", "interrupts"]}]
    tried: list[str]
    best: list[BestTimer]


class Line(TypedDict):
    """A timer under the same conditions."""

    workload: str
    policy: str
    ios_per_irq: Value
    mean_us: Value


class Run(TypedDict):
    """One boot that was asked for."""

    policy: str
    repeat: int
    seed: int
    key: Annotated[str, "SHA-256 of all that decides the run"]
    source: Annotated[str, {"enum": ["run", "store", "checked"]},
                      "checked: from the store, run again, the same bytes"]
    failure: Annotated[str | None, "why there is nothing of it"]


class PreviousRow(TypedDict):
    """A row of the last result, and how much the new one differs."""

    policy: str
    workload: str
    job: str | None
    values: Annotated[Mapping[str, Value], "as in rows"]
    change: Annotated[Mapping[str, Value], "(now - before) / before"]


class Previous(TypedDict):
    """The last result, where it is comparable."""

    directory: Annotated[str, "its name in results/"]
    created: str
    changed: Annotated[Mapping[str, list[str]], "versions that differ: [before, now]"]
    rows: Annotated[list[PreviousRow], _NOT_EMPTY]


class Comparison(TypedDict):
    """results.json of ./cint compare

    Rows are in reported units (converted back by the CPU scale); samples are in guest time, as
    measured.
    """

    schema: Literal[1]
    kind: Annotated[str, {"const": "compare"}]
    created: Annotated[str, {"pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"}, "UTC"]
    label: NotRequired[Annotated[str | None, "--label"]]
    repeat_command: Annotated[str, "the command that gives the same results"]
    wall_s: Annotated[float, "host seconds that the guests took together"]
    quick: Annotated[bool, "true: jobs too short for conclusions"]
    tool: Tool
    host: Host
    versions: Versions
    time: Annotated[str, {"enum": ["virtual", "real"]}]
    accel: Accel
    scale: Scale
    irq_cost: IrqCost
    calibration: Calibration | None
    parameters: Parameters
    baseline: Annotated[str, "the policy that ratios refer to"]
    policies: Annotated[list[Policy], _NOT_EMPTY]
    workloads: Annotated[list[Workload], _NOT_EMPTY]
    rows: list[Row]
    samples: list[Sample]
    runs: NotRequired[Annotated[list[Run], "every boot that was asked for"]]
    timer: NotRequired[Annotated[Timer, "only with static:time=best: what its sweep found"]]
    timers: NotRequired[Annotated[list[Line], "timers of 2 to 100 us under the same conditions, "
                                              "where the store has all of their runs"]]
    notes: Annotated[list[str], "those that begin with 'warning: ' are warnings"]
    previous: NotRequired[Annotated[Previous | None,
                                    "the last result, where it is comparable; null or absent: "
                                    "none"]]
