# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest images: fio, agent and tools built by the recipes in images/, then packed."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from cint import ask, paths, steps, ui
from cint.build import nvme_cli, patches, sources

_COMPILER = {"CC": "ccache gcc"}
_FIO = paths.GUEST / "fio"
_AGENT = paths.GUEST / "agent"
#: The user-space driver's program, and a fio with an engine on it, in an image of their own: what
#: is measured with the kernel's driver has none of it.
_CINTIO = paths.GUEST / "cintio"
_FIO_USER = paths.GUEST / "fio-user"
_TOOLS = (paths.GUEST / "hintio", paths.GUEST / "slice", paths.GUEST / "vclock")
#: A program that a person's own disk can have (cint.measure.apps), and the image has not.
_KVSTORE = paths.GUEST / "kvstore"
#: Application steering from user space, with a file of the guest kernel's patches in it.
_STEERD = paths.GUEST / "steerd"

#: What marks programs' I/O, and a fio that it can be loaded into, in images of their own, too.
_PRELOAD = (paths.GUEST / "libcint-preload.so", paths.GUEST / "cint-preload")
_FIO_SHARED = paths.GUEST / "fio-shared"

#: A fio that ends runs when blocks of them agree, in an image of its own: what is measured for a
#: time that is given has none of it.
_FIO_AGREE = paths.GUEST / "fio-agree"

#: Programs taken from the distribution as they are: (name, where to look).
_TAKEN = ("/bin/busybox", "/usr/sbin/nvme")


def _fio_source(own: Path | None) -> sources.Source:
    """The distribution's fio, or a person's own tree, which a build does not write to."""
    if own is None:
        return sources.unpack(sources.FIO)
    return sources.Source(sources.FIO, f"of {own}", own, verified=False)


def complaint(job_text: str) -> str | None:
    """The complaint of the guest's fio about a job file; None if it understands it.

    And where it is not built yet.
    """
    if not _FIO.exists():
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".fio", encoding="utf-8") as file:
        file.write(job_text)
        file.flush()
        done = _ask_fio("--parse-only", file.name)
    if done.returncode == 0:
        return _engine_complaint(job_text)
    said = [line.removeprefix("fio: ") for line in done.stderr.splitlines() if line.strip()]
    return "; ".join(said[:2]) or f"exit code {done.returncode}"


def _ask_fio(*words: str) -> subprocess.CompletedProcess[str]:
    return ask.run([str(_FIO), *words], errors="replace", timeout=60)


def _engine_complaint(job_text: str) -> str | None:
    """Words on an engine that the guest's fio has not, which it notices when it runs the job."""
    named = dict.fromkeys(re.findall(r"^\s*ioengine\s*=\s*([^\s;#]+)", job_text, re.MULTILINE))
    if not named:
        return None
    known = [line.strip() for line in _ask_fio("--enghelp").stdout.splitlines()[1:]]
    # The list has no second names, such as linuxaio.
    wrong = [name for name in named
             if name not in known and _ask_fio(f"--enghelp={name}").returncode]
    return f"no ioengine is called {wrong[0]}; valid: {', '.join(known)}" if wrong else None


def complaint_of_rules(rules: Path) -> str | None:
    """The complaint of the guest's program about a file of rules, FILE:LINE: why.

    None if it understands it, and where it is not built yet.
    """
    if not _PRELOAD[1].exists():
        return None
    done = ask.run([str(_PRELOAD[1]), "--check", str(rules)], errors="replace", timeout=60)
    said = done.stderr.strip().removeprefix(f"{_PRELOAD[1].name}: ")
    return None if done.returncode == 0 else said or f"{rules}: exit code {done.returncode}"


def _build_fio(jobs: int, source: sources.Source) -> bool:
    recipe = paths.IMAGES / "build-fio.sh"
    inputs = {"source": source.version,
              "recipe": steps.hash_files([recipe, *(paths.IMAGES / "fio").glob("*.[ch]")])}

    def make(step: steps.Step) -> dict[str, str]:
        shutil.rmtree(paths.FIO_BUILD, ignore_errors=True)
        paths.GUEST.mkdir(parents=True, exist_ok=True)
        step.run(["sh", recipe, source.tree, paths.FIO_BUILD, _FIO, f"-j{jobs}"],
                 env={**steps.ccache_env(), **_COMPILER},
                 parse=steps.counter(r".*gcc.* -c ", 180))
        return {"version": source.version}

    return steps.once("fio", f"Build fio for the guest ({source.version})", inputs,
                      [_FIO, paths.FIO_BUILD / "config-host.mak"], make)


def _build_own(name: str, title: str, recipe_name: str, *words: str | Path,
               of: str = "") -> bool:
    """Build one of our programs for the guest: images/NAME/, by a recipe of images/.

    Programs on the user-space driver have it in them. `of` stands for what else they are made of.
    """
    out = paths.GUEST / name
    recipe = paths.IMAGES / recipe_name
    parts = sorted((paths.IMAGES / name).glob("*.[ch]"))
    if out in (_CINTIO, _FIO_USER, _KVSTORE):
        parts += sorted(paths.USERSPACE.glob("*.[ch]"))
    inputs = {"parts": steps.hash_files([recipe, *parts]), **({"of": of} if of else {})}

    def make(step: steps.Step) -> None:
        paths.GUEST.mkdir(parents=True, exist_ok=True)
        step.run(["sh", recipe, *words, out], env={**steps.ccache_env(), **_COMPILER})

    return steps.once(name, title, inputs, [out], make)


def _build_steerd() -> bool:
    kernel = paths.ROOT / "tests/unit/kernel"
    policy = [*patches.read_series(paths.GUEST_PATCHES), kernel / "take.py",
              *sorted((kernel / "linux").glob("*.h"))]
    return _build_own("steerd", "Build steerd for the guest", "build-steerd.sh",
                      of=steps.hash_files(policy))


def _identity(path: str) -> list[object]:
    """A program of the distribution, without reading it: its size and time."""
    facts = Path(path).stat() if Path(path).exists() else None
    return [path, facts.st_size, facts.st_mtime_ns] if facts else [path]


def build(jobs: int, own_fio: Path | None = None) -> bool:
    """Build the initramfs and its manifest; True when there was something to do."""
    source = _fio_source(own_fio)
    worked = _build_fio(jobs, source)
    worked = nvme_cli.build() or worked
    worked = _build_own("agent", "Build the guest agent", "build-agent.sh") or worked
    for tool in _TOOLS:
        title = f"Build {tool.name} for the guest"
        worked = _build_own(tool.name, title, "build-tool.sh", tool.name) or worked
    worked = _build_own("kvstore", "Build kvstore for the guest", "build-kvstore.sh") or worked
    worked = _build_steerd() or worked
    worked = _build_own("cintio", "Build cintio for the guest", "build-cintio.sh") or worked
    worked = _build_own("fio-user", "Link fio with the user-space driver", "build-fio-more.sh",
                        source.tree, paths.FIO_BUILD,
                        of=steps.hash_file(_FIO)) or worked
    worked = _pack("image", "Make the guest image", paths.INITRAMFS) or worked
    return _pack("userspace-image", "Make the image with the user-space driver",
                 paths.USERSPACE_INITRAMFS, fio=_FIO_USER,
                 tools=(*_TOOLS, _STEERD, _CINTIO)) or worked


def build_agree(own_fio: Path | None = None) -> bool:
    """Build the initramfs whose fio ends runs when blocks of them agree; needs build()."""
    worked = _build_own("fio-agree", "Link fio with the profile that ends runs",
                        "build-fio-more.sh", _fio_source(own_fio).tree, paths.FIO_BUILD,
                        of=steps.hash_file(_FIO))
    return _pack("agree-image", "Make the image whose fio ends runs", paths.AGREE_INITRAMFS,
                 fio=_FIO_AGREE, tools=(*_TOOLS, _STEERD)) or worked


def build_distro(more: Path | None = None) -> bool:
    """Build the initramfs with the modules of the distribution's kernel; needs build().

    With `more`, one that has this module, too, and those of file systems: to be loaded by hand.
    """
    if more is None:
        return _pack("distro-image", "Make the image for the distribution's kernel",
                     paths.DISTRO_INITRAMFS, paths.DISTRO_MODULES)
    modules = more.parent / "modules"
    shutil.rmtree(modules, ignore_errors=True)
    shutil.copytree(paths.DISTRO_MODULES, modules)
    shutil.copytree(paths.DISTRO_MORE, modules, dirs_exist_ok=True)
    shutil.copyfile(more, modules / more.name)
    return _pack("distro-hints-image", "Make the image with the hints module",
                 paths.DISTRO_HINTS_INITRAMFS, modules)


def build_preload(more: Path | None = None) -> bool:
    """Build the initramfs in which programs' I/O can be marked; needs build().

    With `more`, that for the distribution's kernel with this module; needs build_distro(more).
    """
    library, program = _PRELOAD
    of = steps.hash_files(sorted(paths.PRELOAD.glob("*.[ch]")))
    worked = _build_own(library.name, "Build the library that marks I/O", "build-preload.sh",
                        "library", of=of)
    worked = _build_own(program.name, "Build the program that loads it", "build-preload.sh",
                        "program", of=of) or worked
    worked = _build_own(_FIO_SHARED.name, "Link fio with shared libraries", "build-fio-shared.sh",
                        paths.FIO_BUILD, of=steps.hash_file(_FIO)) or worked
    out, modules = ((paths.DISTRO_PRELOAD_INITRAMFS, more.parent / "modules") if more
                    else (paths.PRELOAD_INITRAMFS, None))
    return _pack("distro-preload-image" if more else "preload-image",
                 "Make the image in which I/O can be marked", out, modules, fio=_FIO_SHARED,
                 tools=(*_TOOLS, _STEERD, program), library=library) or worked


def _pack(name: str, title: str, out: Path, modules: Path | None = None, *, fio: Path = _FIO,
          tools: tuple[Path, ...] = (*_TOOLS, _STEERD), library: Path | None = None) -> bool:
    """Make one initramfs and, beside it, its manifest."""
    recipe = paths.IMAGES / "mkimage.py"
    more = sorted(modules.iterdir()) if modules else []
    nvme = nvme_cli.program()
    own = [part for part in (library, nvme) if part]
    inputs = {
        "parts": steps.hash_files([fio, _AGENT, *tools, recipe, *more, *own]),
        "taken": [_identity(path) for path in _TAKEN],
    }
    words: list[str | Path] = ["--modules", modules] if modules else []
    for tool in tools:
        words += ["--tool", tool]
    if nvme:
        words += ["--nvme", nvme]
    if library:
        words += ["--library", library, "--shared-fio"]

    def make(step: steps.Step) -> None:
        step.run([paths.VENV / "bin/python", recipe, "--fio", fio, "--agent", _AGENT,
                  *words, "--out", out])
        step.summary(ui.size(out.stat().st_size))

    return steps.once(name, title, inputs, [out, out.with_name(paths.MANIFEST.name)], make)
