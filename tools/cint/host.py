# SPDX-License-Identifier: GPL-2.0-or-later
"""Facts about this machine: distribution, size, and accelerators that really work."""

import os
import platform
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from cint import ask, paths, steps, ui


@dataclass(frozen=True)
class Distribution:
    """The distribution, as /etc/os-release has it."""

    name: str
    ident: str
    version: str
    like: str

    @property
    def verified(self) -> bool:
        """Whether cint was tried on it, from set-up to all tests."""
        return self.ident == "debian" and self.version in ("12", "13")


def parse_os_release(text: str) -> Distribution:
    """Read the contents of /etc/os-release."""
    values = {}
    for line in text.splitlines():
        key, _, value = line.partition("=")
        values[key] = value.strip().strip('"')
    return Distribution(values.get("PRETTY_NAME", "an unknown system"), values.get("ID", ""),
                        values.get("VERSION_ID", ""), values.get("ID_LIKE", ""))


def distribution() -> Distribution:
    """This machine's distribution."""
    try:
        return parse_os_release(Path("/etc/os-release").read_text("utf-8"))
    except OSError:
        return parse_os_release("")


def machine() -> str:
    """The processor architecture, e.g. x86_64."""
    return platform.machine()


# --- accelerators, really tried ----------------------------------------------------------

#: Seconds a probe guest may take. Under TCG it takes a fifth of a second.
PROBE_LIMIT_S = 10.0

#: What the probe guest writes to the debug-exit port makes QEMU exit with (42 << 1) | 1.
_PROBE_EXIT = 85

#: Boot sector that enters 64-bit mode, runs a loop of ten million rounds, reads the time
#: stamp counter and exits: what a Linux guest needs first. A /dev/kvm that opens but cannot
#: run such a guest (nested virtualisation that is broken) stops or hangs in it.
#:
#:   cli; ds, es, ss = 0; page tables for the first 2 MiB at 0x1000..0x3fff
#:   cr3 = 0x1000; cr4 = PAE; EFER |= LME; lgdt; cr0 = PG | PE; far jump to 64-bit code
#:   cpuid; ecx = 10000000; 1: dec ecx; jnz 1b; rdtsc; out 0xf4, 42; 2: hlt; jmp 2b
_BOOT_CODE = bytes.fromhex(
    "fa31c08ed88ec08ed0bc007cbf0010b90018fcf3abc70600100320c70600200330c7060030830066b800100000"
    "0f22d866b8200000000f22e066b9800000c00f32660d000100000f300f0116887c66b8110000800f22c0ea5c7c"
    "080031c00fa2b980969800ffc975fc0f3166baf400b02aeef4ebfd0f1f00000000000000000000000000009a20"
    "000f00787c"
)
BOOT_SECTOR = _BOOT_CODE.ljust(510, b"\0") + b"\x55\xaa"

#: Processor models to try with KVM, best first. Some hosts abort on `host` only.
_KVM_MODELS = ("host", "qemu64")


@dataclass(frozen=True)
class Probe:
    """One accelerator that was tried with one processor model."""

    accel: str
    cpu: str
    works: bool
    reason: str
    seconds: float


@dataclass(frozen=True)
class Accel:
    """The accelerator to use in real time: QEMU's names for it and for the processor."""

    name: str
    cpu: str
    reason: str
    probes: tuple[Probe, ...] = ()


def probe_accel(qemu: Path, accel: str, cpu: str, limit_s: float = PROBE_LIMIT_S) -> Probe:
    """Start a tiny guest under `accel` and see whether it runs to its end."""
    started = time.monotonic()
    with tempfile.NamedTemporaryFile(suffix=".img") as image:
        image.write(BOOT_SECTOR)
        image.flush()
        command = [
            str(qemu), "-accel", accel, "-machine", "pc", "-cpu", cpu, "-m", "16", "-nodefaults",
            "-display", "none", *paths.firmware_args(),
            "-device", "isa-debug-exit,iobase=0xf4,iosize=4",
            "-drive", f"file={paths.in_option(Path(image.name))},format=raw,if=ide,snapshot=on",
        ]
        try:
            done = ask.run(command, errors="replace", timeout=limit_s, stdin=subprocess.DEVNULL)
            works, reason = _judge(done.returncode, done.stderr)
        except subprocess.TimeoutExpired:
            works, reason = False, f"a guest of a few instructions did not run in {limit_s:.0f} s"
        except OSError as problem:
            works, reason = False, f"{qemu} does not run: {problem.strerror}"
    return Probe(accel, cpu, works, reason, round(time.monotonic() - started, 2))


def _judge(code: int, stderr: str) -> tuple[bool, str]:
    if code == _PROBE_EXIT:
        return True, "a guest ran"
    lines = [line.split(": ", 1)[-1] for line in stderr.splitlines() if "warning" not in line]
    return False, lines[0] if lines else f"QEMU ended with exit code {code}"


def _kvm_obstacle() -> str | None:
    """Why KVM cannot even be tried, with what to do."""
    device = Path("/dev/kvm")
    if not device.exists():
        return "there is no /dev/kvm (a virtual machine without nesting, or KVM not loaded)"
    if not os.access(device, os.R_OK | os.W_OK):
        return "/dev/kvm may not be opened; `sudo usermod -aG kvm $USER` and log in again"
    return None


def _try_all(qemu: Path) -> Accel:
    obstacle = _kvm_obstacle()
    probes: list[Probe] = []
    for cpu in () if obstacle else _KVM_MODELS:
        probes.append(probe_accel(qemu, "kvm", cpu))
        if probes[-1].works:
            return Accel("kvm", cpu, f"KVM ran a test guest with -cpu {cpu}", tuple(probes))
    probes.append(probe_accel(qemu, "tcg", "max"))
    if not probes[-1].works:
        return Accel("none", "max", f"not even TCG runs a guest: {probes[-1].reason}",
                     tuple(probes))
    why = obstacle or f"KVM does not work: {probes[-2].reason}"
    return Accel("tcg", "max", why, tuple(probes))


def probe_qemu() -> Path | None:
    """The QEMU to probe with: ours, else the one on the path."""
    if paths.QEMU.exists():
        return paths.QEMU
    found = shutil.which("qemu-system-x86_64")
    return Path(found) if found else None


def choose_accel(*, again: bool = False) -> Accel:
    """The accelerator for `--time real`: KVM when a guest really runs, else TCG.

    Tried once for each host kernel, QEMU and permission of /dev/kvm, and remembered
    in build/stamps/accel.json; `again` tries anew. That nothing works is not remembered:
    TCG does, unless the machine was too busy to run it in time.
    """
    qemu = probe_qemu()
    if qemu is None:
        return Accel("tcg", "max", "not tried: QEMU is not built yet")
    inputs = {
        "kernel": platform.release(),
        "qemu": [str(qemu), qemu.stat().st_mtime_ns],
        "kvm": _kvm_obstacle(),
        "sector": BOOT_SECTOR.hex()[:280],
    }
    stamp = steps.Stamp("accel")
    if not again and stamp.current(inputs):
        facts = stamp.facts()
        probes = tuple(Probe(**probe) for probe in facts["probes"])
        return Accel(facts["name"], facts["cpu"], facts["reason"], probes)
    with ui.Progress("trying accelerators"):
        found = _try_all(qemu)
    if found.name != "none":
        stamp.write(inputs, **asdict(found))
    return found


# --- size ---------------------------------------------------------------------------------


def cpu_model() -> str:
    """The processor's name."""
    match = re.search(r"^model name\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    return match[1] if match else "unknown"


def cpu_count() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0))


def memory_bytes() -> int:
    """Physical memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", errors="replace")
    except OSError:
        return ""
