# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes build/venv what pyproject.toml asks for, when a verb first needs it.

Uses only the standard library: ./cint begins with the system's Python, which is all that help,
doctor, report and their like need. A verb that builds or draws calls ensure(), which goes on in
the environment. Wheels are kept in the user's cache, so that a second environment, or one made
with the network off, needs no download.
"""

import hashlib
import importlib
import importlib.util
import json
import os
import re
import shutil
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

from cint import ask, paths, steps
from cint.errors import CintError

STAMP = paths.VENV / "cint-stamp"
_PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input")
#: pip takes no package whose hash the file of requirements that follows has not.
_HASHED = ("--require-hashes", "--requirement")
_REQUIREMENTS = "requirements.txt"


def _project() -> dict[str, Any]:
    with (paths.TOOLS / "pyproject.toml").open("rb") as stream:
        return dict(tomllib.load(stream)["project"])


def requirements() -> list[str]:
    """The pinned packages of pyproject.toml."""
    return list(_project()["dependencies"])


def extra_requirements(name: str) -> list[str]:
    """The pinned packages of an extra, those that it shares with the others left out."""
    return list(_project()["optional-dependencies"][name])


def locked(pins: list[str]) -> str:
    """The pins as pip's requirements, with hashes; :class:`CintError` where these are missing."""
    text = (paths.TOOLS / "requirements.lock").read_text(encoding="utf-8")
    known = {_exact(match[1]): match[0] for match in re.finditer(
        r"^(\S+==\S+)(?: \\\n +--hash=\S+)+$", text, re.MULTILINE)}
    if missing := [pin for pin in pins if _exact(pin) not in known]:
        raise CintError(f"tools/requirements.lock has no hashes of {', '.join(missing)}",
                        hint="its first lines say how it is made")
    return "".join(f"{known[_exact(pin)]}\n" for pin in pins)


def _extra_stamp(name: str) -> Path:
    return paths.VENV / f"cint-extra-{name}"


def wheel_dir(pins: list[str]) -> Path:
    """Where the wheels of exactly these pins are kept, for this Python on this machine."""
    tag = f"{sysconfig.get_platform()}-{sys.version_info.major}.{sys.version_info.minor}"
    digest = hashlib.sha256("\n".join(sorted(pins)).encode()).hexdigest()[:12]
    return paths.PIP / f"{tag}-{digest}"


def environment_works(python: Path) -> bool:
    """Whether the environment exists, was made here and runs."""
    config = paths.VENV / "pyvenv.cfg"
    if not config.exists() or str(paths.VENV) not in config.read_text(encoding="utf-8"):
        return False
    probe = "import sys, pip; print(*sys.version_info[:2])"
    done = ask.run([python, "-c", probe])
    return done.stdout.split() == [str(part) for part in sys.version_info[:2]]


def fetch_wheels(step: steps.Step, pins: list[str], wheels: Path) -> None:
    """Download all wheels once; a finished directory has a file `complete`."""
    if (wheels / "complete").exists():
        return
    code, lines = step.run(
        [paths.VENV / "bin/python", *_PIP, "download", "--progress-bar", "off",
         "--only-binary", ":all:", "--no-deps", "--dest", wheels, *_HASHED,
         wheels / _REQUIREMENTS],
        parse=steps.counter(r"\s*(Collecting|Saved) ", 2 * len(pins)), check=False,
    )
    if code:
        raise step.fail(download_problem(lines),
                        "pip's index must be reachable once; after that the network may be off")
    (wheels / "complete").touch()


def download_problem(lines: list[str]) -> str:
    """Why pip could not download: after a broken connection it blames the package."""
    for line in lines:
        match = re.search(r"connection broken by '(.{1,200})", line)
        if match:
            certificate = "CERTIFICATE_VERIFY_FAILED" in line
            return ("pip's index cannot be reached: its certificate is not trusted here "
                    "(a proxy? PIP_CERT=FILE names another)" if certificate
                    else f"pip's index cannot be reached: {match[1]}")
    return steps.meaningful_error(lines)


def remove_strangers(step: steps.Step, python: Path, pins: list[str]) -> None:
    """Remove what an older pyproject.toml had asked for."""
    _, lines = step.run([python, *_PIP, "list", "--format=freeze"])
    wanted = {_canonical(pin) for pin in pins} | {"pip", "setuptools", "wheel"}
    strangers = [text.split("==")[0] for text in lines
                 if "==" in text and _canonical(text) not in wanted]
    if strangers:
        step.run([python, *_PIP, "uninstall", "--yes", *strangers])


def _canonical(requirement: str) -> str:
    name = re.split(r"[=<>! \[]", requirement)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def _exact(pin: str) -> str:
    """A pin as it is compared, whichever way its name is written."""
    return f"{_canonical(pin)}=={pin.partition('==')[2]}"


def installed_extras() -> list[str]:
    """The pinned packages of the extras that were asked for."""
    return [pin for name in _project()["optional-dependencies"] if _extra_stamp(name).exists()
            for pin in extra_requirements(name)]


def install_extra(name: str) -> None:
    """Add an extra to the environment, unless it is there."""
    pins = extra_requirements(name)
    stamp = _extra_stamp(name)
    with steps.lock(paths.BUILD / "venv.lock"):
        if stamp.exists() and stamp.read_text(encoding="utf-8").split() == pins:
            return
        with steps.step("extra", f"Python packages for {name} ({len(pins)})") as step:
            _install(step, pins)
        steps.write_atomic(stamp, "\n".join(pins) + "\n")
    importlib.invalidate_caches()


def _install(step: steps.Step, pins: list[str]) -> None:
    wheels = wheel_dir(pins)
    wheels.mkdir(parents=True, exist_ok=True)
    steps.write_atomic(wheels / _REQUIREMENTS, locked(pins))
    step.update("downloading")
    fetch_wheels(step, pins, wheels)
    step.update("installing")
    # Modules are compiled when first imported: most of them never are.
    step.run([paths.VENV / "bin/python", *_PIP, "install", "--no-index", "--no-deps",
              "--no-compile", "--find-links", wheels, *_HASHED, wheels / _REQUIREMENTS],
             hint=f"remove {wheels} to download the packages again")


def can_make() -> bool:
    """Whether this Python can make an environment: Debian has that in a package of its own."""
    return all(importlib.util.find_spec(name) for name in ("venv", "ensurepip"))


def _base_python() -> str:
    """The Python that an environment is made with, also when this one is an environment's."""
    return str(getattr(sys, "_base_executable", sys.executable))


def _wanted_stamp() -> str:
    """What the environment is made from, and where: it does not survive being moved."""
    recipe = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    return json.dumps([str(paths.VENV), requirements(), recipe])


def _bring_up_to_date() -> None:
    # Not the lock of builds: those may take long and use the environment as it is.
    with steps.lock(paths.BUILD / "venv.lock"):
        stamp = _wanted_stamp()
        if STAMP.exists() and STAMP.read_text(encoding="utf-8").strip() == stamp:
            return
        pins = requirements()
        python = paths.VENV / "bin/python"
        with steps.step("venv", f"Python environment ({len(pins)} packages)") as step:
            STAMP.unlink(missing_ok=True)
            if not environment_works(python):
                step.update("creating it")
                shutil.rmtree(paths.VENV, ignore_errors=True)
                step.run([_base_python(), "-m", "venv", paths.VENV])
            _install(step, pins)
            remove_strangers(step, python, [*pins, *installed_extras()])
            steps.write_atomic(STAMP, stamp + "\n")


def inside() -> bool:
    """Whether this Python is the environment's."""
    return Path(sys.prefix).resolve() == paths.VENV.resolve()


def ensure(*extras: str) -> None:
    """Make the environment with these extras, and go on in it.

    From another Python the program begins anew, so this comes before any work.
    """
    _bring_up_to_date()
    for name in extras:
        install_extra(name)
    if not inside():
        python = str(paths.VENV / "bin/python")
        os.execv(python, [python, "-P", "-m", "cint", *sys.argv[1:]])
