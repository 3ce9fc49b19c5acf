# SPDX-License-Identifier: GPL-2.0-or-later
"""A run: one boot of a guest with all that decides what comes of it, and the key of that.

In virtual time a run is a pure function: QEMU, its firmware, kernel, image, command line (the
device's properties and the clock are in it) and the agent's plan give the same bytes on any
machine, at any time. :meth:`RunPlan.key` is a hash of exactly these. Files count by content;
where they are, what the run is called and how long it may take do not count.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cint import paths, steps
from cint.guest import agent, session, vm

#: Of what the key is made and what is kept under it; another number is another key.
VERSION = 1
#: The firmware that a guest's command line makes QEMU read, whatever its kernel is, and what enters
#: a kernel: one that is an ELF file, or a bzImage.
FIRMWARE = ("bios-256k.bin", "kvmvapic.bin")
ENTRY = {True: "pvh.bin", False: "linuxboot_dma.bin"}
_ELF = b"\x7fELF"
#: What of a section's header counts; where it lies in the file does not.
_SECTION = ("sh_type", "sh_flags", "sh_addr", "sh_size")
_BUILD_ID = ".note.gnu.build-id"

#: SHA-256 (hex) of a file's content: where that file is here.
Places = Mapping[str, Path]


def content(path: Path) -> str:
    """SHA-256 (hex) of what a file is to who runs or reads it.

    Of a program (ELF) that is what is loaded, and where to. Debug information names the directory
    that a program was built in, and the build ID is a hash of that, too: two checkouts of one
    commit have the same QEMU but for these.
    """
    # In the environment alone, which --help and --dry-run do not need.
    from elftools.common.exceptions import ELFError  # noqa: PLC0415
    from elftools.elf.constants import SH_FLAGS  # noqa: PLC0415
    from elftools.elf.elffile import ELFFile  # noqa: PLC0415

    with path.open("rb") as stream:
        try:
            sections = [one for one in ELFFile(stream).iter_sections()
                        if one["sh_flags"] & SH_FLAGS.SHF_ALLOC and one.name != _BUILD_ID]
        except ELFError:
            sections = []
        if not sections:
            return steps.hash_file(path)
        whole = hashlib.sha256()
        for one in sections:
            facts = [one.name, *(one[field] for field in _SECTION)]
            whole.update(json.dumps(facts).encode() + one.data())
    return whole.hexdigest()


@functools.cache
def _digest(path: Path, _size: int, _changed_ns: int, _inode: int) -> str:
    return content(path)


def digest(path: Path) -> str:
    """:func:`content` of a file; it is read again when it was changed since."""
    facts = path.stat()
    return _digest(path.resolve(), facts.st_size, facts.st_mtime_ns, facts.st_ino)


def find_firmware(name: str) -> Path:
    """The file that QEMU takes for `name`; VmError where it is not installed."""
    for directory in paths.FIRMWARE_DIRS:
        if (directory / name).is_file():
            return directory / name
    raise vm.VmError(f"QEMU's firmware {name} is not installed", hint="run ./cint build")


def firmware_for(kernel: Path) -> tuple[str, ...]:
    """The firmware that QEMU reads to boot this kernel."""
    with kernel.open("rb") as file:
        return (*FIRMWARE, ENTRY[file.read(len(_ELF)) == _ELF])


@dataclass(frozen=True)
class Files:
    """The files that a run reads: what each is for and its SHA-256, and where they are here."""

    digests: tuple[tuple[str, str], ...]
    places: Places

    @classmethod
    def of(cls, machine: vm.Machine) -> Files:
        """Those of a machine, which have to be there."""
        vm.check_files(machine)
        firmware = {f"firmware/{name}": find_firmware(name)
                    for name in firmware_for(machine.kernel)}
        files = {"qemu": machine.qemu, "kernel": machine.kernel, "initramfs": machine.initramfs,
                 **firmware}
        if machine.backend.path is not None and machine.backend.snapshot:
            files["drive"] = machine.backend.path
        found = {role: digest(path) for role, path in files.items()}
        return cls(tuple(found.items()), {found[role]: path for role, path in files.items()})


@dataclass(frozen=True)
class RunPlan:
    """One boot; nothing in it belongs to this machine. It can be pickled.

    ``argv`` is QEMU's command line without console, control and agent channels, with
    ``{qemu}``, ``{kernel}``, ``{initramfs}``, ``{drive}`` and ``{firmware}`` for the files in
    ``files`` (what for, SHA-256). ``job_seconds`` is the guest time of the longest job,
    ``boot_limit_s`` the time of the host's that a boot may take. ``impure`` says why its outcome
    may differ from time to time, and is empty if it may not.
    """

    name: str
    argv: tuple[str, ...]
    files: tuple[tuple[str, str], ...]
    jobs: agent.Plan
    job_seconds: float = 60.0
    boot_limit_s: float = vm.BOOT_LIMIT_S
    impure: str = ""

    @classmethod
    def of(cls, name: str, machine: vm.Machine, jobs: agent.Plan, files: Files, *,
           job_seconds: float = 60.0, boot_limit_s: float = vm.BOOT_LIMIT_S) -> RunPlan:
        """The run of a plan on a machine, whose `files` are :meth:`Files.of`."""
        drive = Path("{drive}") if machine.backend.snapshot else machine.backend.path
        nowhere = replace(machine, qemu=Path("{qemu}"), kernel=Path("{kernel}"),
                          initramfs=Path("{initramfs}"),
                          backend=replace(machine.backend, path=drive))
        argv = vm.machine_args(nowhere, ("-L", "{firmware}"))
        return cls(name, tuple(argv), files.digests, jobs, job_seconds, boot_limit_s,
                   _impure(machine, jobs))

    def key(self) -> str:
        """SHA-256 (hex) of all that decides the outcome."""
        channels = vm.Channels.of(Path("{run}"), Path("{logs}"))
        whole = {"version": VERSION, "protocol": agent.PROTOCOL, "files": dict(self.files),
                 "argv": [*self.argv, *vm.channel_args(channels, serve=False)],
                 "jobs": json.loads(self.jobs.to_json())}
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()

    def command(self, places: Places) -> list[str]:
        """QEMU's command line where the files are at `places`; VmError names one that is not.

        Another command may have built one anew since the run was planned, or chosen another kernel:
        what that boots must not be kept as this run's outcome.
        """
        where: dict[str, Path] = {}
        for role, content in self.files:
            if content not in places:
                raise vm.VmError(f"{self.name}: {role} with SHA-256 {content[:12]}... is not here")
            where[role] = places[content]
            if digest(where[role]) != content:
                raise vm.VmError(f"{self.name}: {role} has changed meanwhile: "
                                 f"{paths.display(where[role])}",
                                 hint="another command has built it; run this one again")
        firmware = [path.parent for role, path in where.items() if role.startswith("firmware/")]
        options = [w for path in dict.fromkeys(firmware) for w in ("-L", str(path))]
        return _filled(self.argv, {f"{{{role}}}": str(path) for role, path in where.items()},
                       options)


def _filled(argv: Sequence[str], words: Mapping[str, str], firmware: Sequence[str]) -> list[str]:
    filled: list[str] = []
    for word in argv:
        if word == "{firmware}":
            filled[-1:] = firmware  # in place of -L
        elif (end := word.rpartition("=")[2]) in words:
            filled.append(word.removesuffix(end) + paths.in_option(Path(words[end])))
        else:
            filled.append(word)
    return filled


def _impure(machine: vm.Machine, jobs: agent.Plan) -> str:
    if not machine.virtual:
        return "real time"
    if machine.backend.path is not None and not machine.backend.snapshot:
        return "a drive that the run may change"
    if machine.extra:
        return "further options of QEMU"
    if machine.own_guest or jobs.then != "poweroff":
        return "a guest that does not end by itself"
    return ""


# ---- what came of it ----------------------------------------------------

@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run. It can be pickled.

    ``agent`` (every message of the guest's agent: fio's output, counters, the device's log
    pages), ``console`` and ``trace`` (what QEMU printed) are the outcome; in virtual time
    they repeat byte for byte. The rest says where it was made and how long that took.
    """

    key: str
    agent: bytes
    console: bytes
    trace: bytes
    argv: tuple[str, ...] = ()
    boot_wall_s: float = 0.0
    wall_s: float = 0.0
    #: As session.Outcome has it, where the run's logs are kept; the store has none.
    boot_races: tuple[Path, ...] = ()

    def parts(self) -> dict[str, bytes]:
        """The outcome proper, by name of log."""
        return {"agent.log": self.agent, "console.log": self.console, "trace.log": self.trace}

    def parsed(self, name: str) -> session.Outcome:
        """The agent's messages, read."""
        outcome = session.read(name, self.agent)
        outcome.argv, outcome.boot_wall_s = list(self.argv), self.boot_wall_s
        outcome.boot_races = self.boot_races
        return outcome

    def write_logs(self, logs: Path) -> None:
        """Make the logs that the run itself would have left."""
        logs.mkdir(parents=True, exist_ok=True)
        (logs / "agent.log").write_bytes(self.agent)
        (logs / "console.log").write_bytes(self.console)
        (logs / "qemu.log").write_bytes(session.log_head(self.argv) + self.trace)


def difference(one: RunOutcome, other: RunOutcome) -> str | None:
    """Where two outcomes part, in words; None: nowhere."""
    theirs = other.parts()
    for name, mine in one.parts().items():
        pairs = enumerate(zip(mine, theirs[name], strict=False))
        at = next((i for i, (a, b) in pairs if a != b), min(len(mine), len(theirs[name])))
        if mine != theirs[name]:
            return f"{name} from byte {at}"
    return None
