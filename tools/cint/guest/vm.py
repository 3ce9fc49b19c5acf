# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest: QEMU's command line, and a running one from start to end.

A guest is started with sockets that this process listens on, so nothing has
to wait for QEMU to create them.  A guest that does not boot, hangs or dies
ends with an error that carries the last console lines.
"""

from __future__ import annotations

import fnmatch
import queue
import re
import shlex
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cint import ask, paths, ui, units
from cint.device import scale
from cint.device.properties import Value, join_properties
from cint.errors import EXIT_TIMEOUT, CintError, UsageError
from cint.guest import agent
from cint.guest.qmp import Qmp, QmpError

BOOT_LIMIT_S = 90.0
EXIT_LIMIT_S = 20.0
#: Time that QEMU waited for a CPU does not count as its silence, but for this share of all time:
#: whatever hangs is found.
LEAST_SERVED = 0.1
CONSOLE_LINES = 20
#: Bytes that a console's or a log's next lines would have to fit in.
NO_SPACE = 64 << 10
POLL_S = 0.05
#: The measured controller's names: QEMU's, and the serial number that its guest sees.
NVME_ID, NVME_SERIAL = "nvme0", "cint"
ICOUNT = "shift=0,sleep=off"
# A fixed start and the virtual clock: without them the guest's first second
# depends on the host's clock.
VIRTUAL_ARGS = ("-rtc", "base=2026-01-01T00:00:00,clock=vm")
#: An IOMMU that confines devices and their interrupts, and what makes Linux use it.
IOMMU_ARGS = ("-device", "intel-iommu,intremap=on,eim=on")
IOMMU_APPEND = "intel_iommu=on"
CMDLINE = paths.KERNEL_CONFIG / "cmdline"
CMDLINE_VIRTUAL = paths.KERNEL_CONFIG / "cmdline.virtual"
CMDLINE_REAL = paths.KERNEL_CONFIG / "cmdline.real"


@dataclass(frozen=True)
class Race:
    """A fault of QEMU 10.0 with several vCPU threads that now and then ends a boot.

    ``log`` has the ``words`` by which it is known. Such a guest is started again, once.
    """

    log: str
    words: str
    what: str


RACES = (
    # One thread uses the memory map that another replaces while PCI devices are mapped: in a QEMU
    # without our repair (system/physmem: keep the view that a CPU's TLB is filled from).
    Race("qemu.log", "iotlb_to_section: Assertion", "QEMU ended itself"),
    # A CPU runs the breakpoint by which Linux patches its code after the last one is gone: its
    # translation outlived it.
    Race("console.log", "Oops: int3", "the guest ran a breakpoint that was gone"),
)


class VmError(CintError):
    """The guest did not do what it should; the message is one line."""


class NotBuiltError(VmError):
    """A built file that the guest needs is not there."""


class CancelledError(VmError):
    """The caller asked the guest to end."""


@dataclass(frozen=True)
class Backend:
    """The holder of the namespace's data: nothing (null-co) or a raw file.

    With ``snapshot`` the file stays as it is, and what is written is lost with the guest.
    """

    path: Path | None = None
    size: int = 1 << 30
    snapshot: bool = False

    def args(self) -> list[str]:
        """The -blockdev option for node ``d0``, or a drive of that name."""
        if self.path is not None and self.snapshot:
            return ["-drive", "if=none,id=d0,format=raw,snapshot=on,"
                              f"file={paths.in_option(self.path)}"]
        if self.path is not None:
            return ["-blockdev",
                    f"driver=file,node-name=d0,filename={paths.in_option(self.path)}"]
        return ["-blockdev", f"driver=null-co,node-name=d0,size={self.size},read-zeroes=on"]


@dataclass(frozen=True)
class Machine:
    """One guest, as far as the command line tells.

    ``properties`` are those of ``-device nvme`` after id, serial and drive;
    ``device_opts`` is appended to them as it is.  ``second``, if any, are those
    of a second controller, which keeps nothing of what is written to it, unless
    ``second_kept``: then until the guest is off.
    ``own_guest`` leaves our kernel, initramfs and agent out.  ``slot_ns`` is
    how long each of several CPUs runs in virtual time before it is the next
    one's turn.
    """

    properties: Sequence[tuple[str, Value]] = ()
    device_opts: str = ""
    qemu: Path = paths.QEMU
    kernel: Path = paths.KERNEL
    initramfs: Path = paths.INITRAMFS
    cmdline_virtual: Path = CMDLINE_VIRTUAL
    append: tuple[str, ...] = ()
    vcpus: int = 1
    slot_ns: int = scale.SLOT_NS
    memory_mib: int = 1024
    #: In virtual time: of what the guest takes for random numbers of its CPU.
    seed: int = 1
    virtual: bool = True
    #: With an IOMMU, for drivers in user space.
    iommu: bool = False
    accel: str = "tcg"
    cpu: str = "max"
    #: In real time under TCG: all CPUs take turns in one thread of the host.
    one_thread: bool = False
    backend: Backend = field(default_factory=Backend)
    second: Sequence[tuple[str, Value]] = ()
    second_kept: bool = False
    trace: tuple[str, ...] = ()
    own_guest: bool = False
    extra: tuple[str, ...] = ()


# ---- the command line ---------------------------------------------------

def kernel_options(path: Path) -> list[str]:
    """Kernel options from a file, one a line, ``#`` begins a remark; VmError without the file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as err:
        raise VmError(f"{paths.display(path)}: {err.strerror}",
                      hint="the checkout is not complete") from None
    words = [line.partition("#")[0].strip() for line in lines]
    return [w for w in words if w]


def kernel_cmdline(machine: Machine) -> str:
    """The text of -append; later options win over earlier ones."""
    of_time = machine.cmdline_virtual if machine.virtual else CMDLINE_REAL
    of_iommu = [IOMMU_APPEND] if machine.iommu else []
    return " ".join([*kernel_options(CMDLINE), *kernel_options(of_time), *of_iommu,
                     *machine.append])


def _board(machine: Machine) -> str:
    """The value of -machine.

    A kernel believes the PIT when that and the HPET disagree on how fast the TSC is, and the PIT's
    answer is wrong by as long as a busy host makes it wait: a guest whose clock ran 28 times too
    fast saw commands time out. The HPET's, read at both ends, is right however long it took. KVM
    tells its guests.
    """
    emulated = not machine.virtual and machine.accel != "kvm" and not machine.own_guest
    return "q35,pit=off" if emulated else "q35"


def _accel_args(machine: Machine) -> list[str]:
    if machine.virtual:
        icount = ICOUNT if machine.vcpus == 1 else f"{ICOUNT},slot={machine.slot_ns}"
        return ["-accel", "tcg,thread=single", "-cpu", machine.cpu, "-icount", icount,
                *VIRTUAL_ARGS, "-seed", str(machine.seed)]
    threads = "single" if machine.one_thread else "multi"
    accel = "kvm" if machine.accel == "kvm" else f"tcg,thread={threads}"
    return ["-accel", accel, "-cpu", machine.cpu]


def nvme_arg(machine: Machine) -> str:
    """The value of -device for the NVMe controller."""
    fixed: list[tuple[str, Value]] = [("id", NVME_ID), ("serial", NVME_SERIAL),
                                      ("drive", "d0")]
    text = join_properties("nvme", [*fixed, *machine.properties])
    return f"{text},{machine.device_opts}" if machine.device_opts else text


def _second_args(machine: Machine) -> list[str]:
    """Options for the second controller, /dev/nvme1 of the guest, and its namespace."""
    if not machine.second:
        return []
    fixed: list[tuple[str, Value]] = [("id", "nvme1"), ("serial", "second"), ("drive", "d1")]
    device = ["-device", join_properties("nvme", [*fixed, *machine.second])]
    if machine.second_kept:
        return ["-drive", "if=none,id=d1,snapshot=on,driver=raw,file.driver=null-co,"
                          f"file.size={machine.backend.size},file.read-zeroes=on", *device]
    return ["-blockdev",
            f"driver=null-co,node-name=d1,size={machine.backend.size},read-zeroes=on", *device]


#: Words for trace events: the project's own; and QEMU's own that tell which vCPU a message is for.
TRACE_WORDS = {"cint": ("pci_nvme_cint_*",), "vcpus": ("pci_nvme_irq_msix", "apic_deliver_irq")}


def _trace_args(patterns: Sequence[str]) -> list[str]:
    """-trace options; a word of TRACE_WORDS stands for its events.

    Events are printed by the log backend. The simple backend, which is built
    in too, would leave a file trace-PID in the current directory.
    """
    names = [name for p in patterns for name in TRACE_WORDS.get(p, (p,))]
    if names:
        names.append("file=/dev/null")
    return [word for name in names for word in ("-trace", name)]


def check_trace(patterns: Sequence[str], qemu: Path = paths.QEMU) -> None:
    """Refuse, by UsageError, patterns of no trace event of QEMU's, once that is built."""
    if not patterns or not qemu.exists():
        return
    done = ask.run([str(qemu), "-trace", "help"], timeout=60)
    known = done.stdout.split()
    for pattern in patterns:
        for name in TRACE_WORDS.get(pattern, (pattern,)):
            if not fnmatch.filter(known, name):
                raise UsageError(f"--trace {pattern}: QEMU has no such event"
                                 f"{units.suggestion(pattern, [*TRACE_WORDS, *known])}",
                                 hint=f"{', '.join(TRACE_WORDS)}, or a pattern such as "
                                      "pci_nvme_cint_irq or pci_nvme_*")


def machine_args(machine: Machine, firmware: Sequence[str] = ()) -> list[str]:
    """QEMU's command line without console, control and agent channels.

    ``firmware`` are the options that say where it is, if not in the packages' places.
    """
    args = [str(machine.qemu)]
    if not machine.own_guest:
        args += ["-nodefaults", "-no-user-config"]
    args += [*(firmware or paths.firmware_args()), "-machine", _board(machine),
             *_accel_args(machine),
             "-smp", str(machine.vcpus), "-m", str(machine.memory_mib)]
    if not machine.own_guest:
        args += ["-no-reboot", "-kernel", str(machine.kernel),
                 "-initrd", str(machine.initramfs), "-append", kernel_cmdline(machine)]
    args += IOMMU_ARGS if machine.iommu else ()
    args += [*machine.backend.args(), "-device", nvme_arg(machine), *_second_args(machine)]
    return [*args, *_trace_args(machine.trace), *machine.extra]


@dataclass(frozen=True)
class Channels:
    """Files and sockets of one running guest."""

    #: What the guest prints; QEMU's command line and what it prints; every message of the agent.
    console: Path
    log: Path
    agent_log: Path
    #: Where an agent that takes commands is connected, and QEMU's control socket.
    socket: Path
    qmp: Path
    #: The file behind the fw_cfg plan.
    plan: Path

    @classmethod
    def of(cls, directory: Path, logs: Path) -> Channels:
        """Sockets and plan are in one directory, what is kept in the other."""
        return cls(logs / "console.log", logs / "qemu.log", logs / "agent.log",
                   directory / "agent", directory / "qmp", directory / "plan")


def plan_args(plan: Path) -> list[str]:
    """Hand the plan to the guest before it boots."""
    return ["-fw_cfg", f"name={agent.PLAN_FILE},file={paths.in_option(plan)}"]


def agent_args(chardev: str) -> list[str]:
    """The virtio-serial port that the agent speaks on.

    Without ioeventfd the guest's write is done when it returns, at no time of
    the guest's: with it, it would be done at some time of the host's.
    """
    return ["-chardev", f"{chardev},id=agent", "-device", "virtio-serial-pci,ioeventfd=off",
            "-device", f"virtserialport,chardev=agent,name={agent.PORT_NAME}"]


def channel_args(channels: Channels, serve: bool) -> list[str]:
    """Console log, QMP, agent port and plan of an unattended guest.

    The agent's messages go to a file, which never makes the guest wait; only
    an agent that takes commands needs a socket.
    """
    port = (f"socket,path={paths.in_option(channels.socket)}" if serve else
            f"file,path={paths.in_option(channels.agent_log)}")
    return ["-display", "none",
            "-chardev", f"file,id=console,path={paths.in_option(channels.console)}",
            "-serial", "chardev:console",
            "-chardev", f"socket,id=qmp,path={paths.in_option(channels.qmp)}",
            "-mon", "chardev=qmp,mode=control",
            *agent_args(port), *plan_args(channels.plan)]


def shell_line(args: Sequence[str]) -> str:
    """A command line that can be pasted, one option a line."""
    lines: list[str] = []
    for arg in args:
        quoted = shlex.quote(arg)
        is_value = bool(lines) and not arg.startswith("-") and lines[-1].count(" ") == 0
        if is_value and lines[-1].startswith("-"):
            lines[-1] += " " + quoted
        else:
            lines.append(quoted)
    return " \\\n  ".join(lines)


# ---- a running guest ----------------------------------------------------

def check_files(machine: Machine) -> None:
    """Raise a :class:`NotBuiltError` of the first built file that is missing."""
    needed = [(machine.qemu, "QEMU")]
    if not machine.own_guest:
        needed += [(machine.kernel, "the guest kernel"), (machine.initramfs, "the guest image")]
    if machine.backend.path is not None and machine.backend.snapshot:
        needed.append((machine.backend.path, "the guest's disk"))
    for path, what in needed:
        if not path.exists():
            raise NotBuiltError(f"{what} is not built: {paths.display(path)} does not exist",
                                hint="run ./cint build")


def check_drive(drive: Path | None, hint: str | None = None) -> None:
    """Refuse, by UsageError, a --drive that is no file; `hint` says how one is made."""
    if drive is not None and drive.is_dir():
        raise UsageError(f"--drive {drive}: that is a directory")
    if drive is not None and not drive.is_file():
        raise UsageError(f"--drive {drive}: there is no such file", hint=hint)


#: What a file of qcow2 begins with.
QCOW2 = b"QFI\xfb"
#: The least that a namespace can have, bytes.
_BLOCK = 4096


def raw_drive(text: str) -> Path:
    """A --drive; UsageError of one that is not raw: the guest would write over a qcow2."""
    drive = Path(text)
    check_drive(drive, "make one: truncate -s 1G FILE")
    try:
        with drive.open("rb") as stream:
            begins = stream.read(len(QCOW2))
    except OSError as problem:
        raise UsageError(f"--drive {drive}: {paths.said_of(problem)}") from None
    if begins == QCOW2:
        raise UsageError(f"--drive {drive}: this is a qcow2 image, and a raw file is taken",
                         hint="make one: qemu-img convert -O raw IMAGE FILE")
    if drive.stat().st_size < _BLOCK:
        raise UsageError(f"--drive {drive}: shorter than a block of {_BLOCK} bytes",
                         hint="make one: truncate -s 1G FILE")
    return drive


def command(machine: Machine) -> list[str]:
    """The command line that :class:`Vm` starts for a machine, whose files are there."""
    check_files(machine)
    return machine_args(machine)


def cpu_wait_s(pid: int) -> float:
    """Seconds that the threads of a process could run and had no CPU; 0 where nothing tells."""
    total = 0
    try:
        threads = [*Path(f"/proc/{pid}/task").glob("*/schedstat")]
    except OSError:
        return 0.0  # the process ended just now
    for path in threads:
        try:
            total += int(path.read_text("ascii").split()[1])
        except (OSError, ValueError, IndexError):
            continue  # the thread ended just now, or the kernel does not count
    return total / 1e9


class Vm:
    """A guest from start to end; use as a context manager.

    ``command`` is that of :func:`command`.  ``logs`` receives console.log,
    qemu.log and agent.log, and the log of a boot that one of RACES ended, which
    is in ``boot_races``.  All methods are for one thread; a second thread only
    reads the agent's socket.
    """

    def __init__(self, command: Sequence[str], plan: agent.Plan, logs: Path,
                 boot_limit_s: float = BOOT_LIMIT_S,
                 cancel: threading.Event | None = None) -> None:
        self.command = command
        self.plan = plan
        self.logs = logs
        self.boot_limit_s = boot_limit_s
        self._cancel = cancel or threading.Event()
        self.boot_wall_s = 0.0
        self.boot_races: list[Path] = []
        self.hello: agent.Message = {}
        self.argv: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: queue.Queue[bytes | CintError | None] = queue.Queue()
        self._directory: Path | None = None
        self._qmp: Qmp | None = None
        self._agent: socket.socket | None = None
        self._listeners: list[socket.socket] = []
        self._started = time.monotonic()
        self._waited_s = 0.0

    def _served_s(self) -> float:
        """Seconds since QEMU began in which it had the CPU whenever it wanted it.

        A busy host makes a guest slow; it does not make it one that hangs.
        """
        if self._process is not None:
            self._waited_s = max(self._waited_s, cpu_wait_s(self._process.pid))
        elapsed = time.monotonic() - self._started
        return max(elapsed - self._waited_s, elapsed * LEAST_SERVED)

    # -- start and end --

    def __enter__(self) -> Vm:
        try:
            self._start_despite_race()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start_despite_race(self) -> None:
        try:
            self.start()
        except VmError:
            race = self._race()
            if race is None:
                raise
        else:
            return
        self.stop()
        log = self.logs / race.log
        kept = log.with_name(f"{log.stem}.race.log")
        log.replace(kept)
        self.boot_races.append(kept)
        ui.warn(f"{race.what} while the guest booted: it is started once more",
                f"see {paths.display(kept)}")
        self.start()

    def _race(self) -> Race | None:
        """What of RACES the logs of this boot tell of."""
        for race in RACES:
            log = self.logs / race.log
            if log.exists() and race.words in log.read_text("utf-8", errors="replace"):
                return race
        return None

    def start(self) -> None:
        """Start QEMU and wait until the agent says hello."""
        self.logs.mkdir(parents=True, exist_ok=True)
        # Not below logs: the path of a unix socket must be short.
        self._directory = Path(tempfile.mkdtemp(prefix="cint-"))
        channels = Channels.of(self._directory, self.logs)
        channels.plan.write_text(self.plan.to_json(), encoding="utf-8")
        for path in (channels.console, channels.agent_log):
            path.write_bytes(b"")
        serve = self.plan.then == "serve"
        agent_listener = self._listen(channels.socket) if serve else None
        qmp_listener = self._listen(channels.qmp)
        self.argv = [*self.command, *channel_args(channels, serve)]
        self._started, self._waited_s = time.monotonic(), 0.0
        self._process = self._spawn(channels)
        self._agent = self._accept(agent_listener) if agent_listener else None
        self._lines = queue.Queue()
        reader = self._read_socket(self._agent) if self._agent else self._read_file(self._process)
        threading.Thread(target=self._read_agent, args=(reader, self._lines), daemon=True).start()
        self._qmp = self._control(self._accept(qmp_listener))
        self.hello = self.expect("hello", self.boot_limit_s, "the guest did not boot")
        agent.check_hello(self.hello)
        self.boot_wall_s = time.monotonic() - self._started

    def _control(self, connection: socket.socket) -> Qmp:
        try:
            return Qmp(connection)
        except QmpError:
            # A property that QEMU refuses ends it just now: say its own words.
            connection.close()
            raise self._gone("QEMU did not start") from None

    def _spawn(self, channels: Channels) -> subprocess.Popen[bytes]:
        with channels.log.open("wb") as log:
            log.write((shell_line(self.argv) + "\n").encode())
            log.flush()
            return subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=log,
                                    stderr=subprocess.STDOUT, start_new_session=True)

    def stop(self) -> None:
        """End QEMU if it still runs and remove the sockets."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for closable in (self._qmp, self._agent, *self._listeners):
            if closable is not None:
                closable.close()
        self._qmp = self._agent = None
        self._listeners = []
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)

    def wait_exit(self, limit_s: float = EXIT_LIMIT_S) -> None:
        """Wait until the guest has powered off."""
        assert self._process is not None
        deadline = self._served_s() + limit_s
        while (status := self._process.poll()) is None:
            if self._served_s() > deadline:
                raise self.failure(f"the guest did not power off within {limit_s:.0f} s",
                                   EXIT_TIMEOUT)
            time.sleep(POLL_S)
        if status != 0:
            raise self.failure(f"QEMU ended with status {status}{self._qemu_words()}")

    @property
    def qmp(self) -> Qmp:
        """The control session; using it while a measurement runs is harmless in
        virtual time (time stands still) but not in real time."""
        assert self._qmp is not None
        return self._qmp

    # -- messages --

    def messages(self, limit_s: float, what: str) -> Iterator[agent.Message]:
        """Yield the agent's messages until ``done``.

        ``limit_s`` is the longest silence, in seconds in which QEMU had the CPU that it wanted.
        """
        while True:
            message = self.next_message(limit_s, what)
            yield message
            if message.get("type") == "done":
                return

    def next_message(self, limit_s: float, what: str) -> agent.Message:
        """The agent's next; its ``error`` messages are raised, and CancelledError when stopped."""
        deadline = self._served_s() + limit_s
        while True:
            try:
                item = self._lines.get(timeout=min(0.5, max(deadline - self._served_s(), 0.01)))
            except queue.Empty:
                if self._cancel.is_set():
                    raise CancelledError("stopped") from None
                if self._served_s() > deadline:
                    raise self.failure(f"{what}: silence of the guest for {limit_s:.0f} s",
                                       EXIT_TIMEOUT) from None
                continue
            return self._take(item, what)

    def try_message(self, limit_s: float) -> agent.Message | None:
        """A message if one comes within ``limit_s``, else None."""
        try:
            item = self._lines.get(timeout=limit_s)
        except queue.Empty:
            return None
        return self._take(item, "waiting")

    def _take(self, item: bytes | CintError | None, what: str) -> agent.Message:
        if item is None:
            raise self._gone(what)
        if isinstance(item, CintError):
            raise item
        return self._decode(item)

    def expect(self, kind: str, limit_s: float, what: str) -> agent.Message:
        """Skip messages until one of type ``kind`` comes."""
        deadline = self._served_s() + limit_s
        while True:
            message = self.next_message(max(deadline - self._served_s(), 0.01), what)
            if message.get("type") == kind:
                return message

    def send(self, line: bytes) -> None:
        """Send one line to an agent that serves (real-time use only)."""
        assert self._agent is not None
        self._agent.sendall(line + b"\n")

    def _decode(self, line: bytes) -> agent.Message:
        message = agent.parse_line(line)
        if message.get("type") == "error":
            raise self.failure(f"the guest agent reports: {message.get('message', '?')}")
        return message

    # -- trouble --

    def failure(self, message: str, code: int = 1) -> VmError:
        """An error with the last console lines as its hint."""
        if shutil.disk_usage(self.logs).free < NO_SPACE:
            return VmError(f"{message}: no space is left where its logs are: "
                           f"{paths.display(self.logs)}", code=code)
        tail = _tail(self.logs / "console.log", CONSOLE_LINES)
        hint = "the console is empty"
        if tail:
            hint = "last console lines:\n" + "\n".join(f"        | {line}" for line in tail)
        return VmError(message, hint=hint, log=self.logs / "console.log", code=code)

    def _qemu_words(self) -> str:
        tail = [t for t in _tail(self.logs / "qemu.log", 3) if "qemu-system" in t]
        if not tail:
            return ""
        # QEMU repeats the whole -device option before it says what is wrong.
        words = re.sub(r"(-device \w+),\S*: ", r"\1: ", tail[-1])
        return f": {words.removeprefix(Path(self.command[0]).name + ': ')}"

    def _gone(self, what: str) -> VmError:
        assert self._process is not None
        try:
            status: int | None = self._process.wait(5)
        except subprocess.TimeoutExpired:
            status = None
        if status:
            words = self._qemu_words()
            return VmError(f"QEMU ended with status {status}{words}",
                           hint=None if words else "see the log", log=self.logs / "qemu.log")
        return self.failure(f"{what}: the guest ended early")

    # -- sockets --

    def _listen(self, path: Path) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        listener.listen(1)
        listener.settimeout(0.2)
        self._listeners.append(listener)
        return listener

    def _accept(self, listener: socket.socket) -> socket.socket:
        deadline = time.monotonic() + EXIT_LIMIT_S
        while time.monotonic() < deadline:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                if self._process is not None and self._process.poll() is not None:
                    raise self._gone("QEMU did not start") from None
                continue
            connection.settimeout(None)
            return connection
        raise VmError("QEMU did not open its sockets", log=self.logs / "qemu.log")

    @staticmethod
    def _read_agent(reader: Iterator[bytes], lines: queue.Queue[bytes | CintError | None]) -> None:
        buffer = agent.LineBuffer()
        try:
            for data in reader:
                for line in buffer.feed(data):
                    lines.put(line)
        except CintError as err:
            lines.put(err)
        except OSError:
            pass  # the socket was closed by stop()
        lines.put(None)

    def _read_socket(self, connection: socket.socket) -> Iterator[bytes]:
        with (self.logs / "agent.log").open("ab", buffering=0) as log:
            while data := connection.recv(1 << 16):
                log.write(data)
                yield data

    def _read_file(self, process: subprocess.Popen[bytes]) -> Iterator[bytes]:
        with (self.logs / "agent.log").open("rb") as log:
            while True:
                # Ask before reading: what was written before the end is read.
                ended = process.poll() is not None
                data = log.read(1 << 16)
                if data:
                    yield data
                elif ended:
                    return
                else:
                    time.sleep(POLL_S)


def _tail(path: Path, count: int) -> list[str]:
    try:
        text = path.read_bytes()[-65536:].decode("utf-8", "replace")
    except OSError:
        return []
    clean = "".join(c for c in text if c in "\n\t" or c.isprintable())
    return [line.rstrip() for line in clean.splitlines() if line.strip()][-count:]
