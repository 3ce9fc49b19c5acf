# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU: configured, patched, overlaid and built; as it is (stock) where that is asked for.

The stock binary, which the identity test compares with, comes from the same build
directory without the patches. That needs neither a second source tree nor a second
configure, and each of the two builds compiles only what the patches touch (about 20 of 1900
steps). A second build directory was the alternative: ccache would serve it, but it costs
another configure, two gigabytes and a link, and its hits depend on the compiler cache
still holding the first build.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from cint import ask, paths, steps
from cint.build import patches, sources, trees

#: The features the device, the guests and the tests use, and no others: builds in
#: minutes and needs few packages.
CONFIGURE = (
    "--target-list=x86_64-softmmu",
    "--disable-install-blobs",
    "--disable-download",
    "--disable-docs",
    "--disable-user",
    "--without-default-features",
    "--enable-system",
    "--enable-tcg",
    "--enable-kvm",
    "--enable-slirp",
    "--enable-fdt=system",
    "--enable-linux-aio",
    "--enable-tools",
    "--enable-pixman",
    # directories that a guest shares with this machine (./cint run --share)
    "--enable-virtfs",
    "--enable-attr",
    "--enable-trace-backends=log,simple",
    # The distribution's source has no firmware blobs. With this QEMU finds those of the
    # packages seabios, qemu-system-data and ipxe-qemu by itself, also in its own tests.
    "--firmwarepath=" + ":".join(map(str, paths.FIRMWARE_DIRS)),
)

#: Builds with sanitizers. Optimised a little, or the tests take longer than their limits.
SANITIZERS = {
    "qemu-asan": ("--enable-asan", "--enable-ubsan", "-Doptimization=1"),
    "qemu-tsan": ("--enable-tsan", "-Doptimization=1"),
}

#: Builds that are measured: a trace point that is off costs one test of a flag, and casts
#: are not checked, as in a distribution's build.
MEASURED = (*(word for word in CONFIGURE if not word.startswith("--enable-trace-backends")),
            "--enable-trace-backends=log", "--disable-qom-cast-debug")

#: For a person's own machines: all of QEMU's devices, and what its configure finds here. Named
#: is what has to be there whatever the machine. The prefix stands for any: QEMU looks for its
#: files relative to where the program is.
INSTALLED = (
    "--target-list=x86_64-softmmu",
    "--prefix=/usr/local",
    "--disable-install-blobs",
    "--disable-download",
    "--disable-docs",
    "--disable-user",
    "--disable-guest-agent",
    "--disable-werror",
    "--disable-qom-cast-debug",
    "--enable-strip",
    "--enable-trace-backends=log",
    *(f"--enable-{name}" for name in (
        "system", "tcg", "kvm", "tools", "fdt=system", "pixman", "relocatable",
        # screen, sound
        "gtk", "vnc", "vnc-jpeg", "vnc-sasl", "gnutls", "png", "spice", "curses", "opengl",
        "virglrenderer", "pa", "alsa",
        # disks, networks, host devices
        "linux-aio", "linux-io-uring", "zstd", "bzip2", "curl", "libssh", "slirp", "virtfs",
        "attr", "vhost-net", "vhost-user", "vhost-vdpa", "libusb", "usb-redir",
        # what libvirt asks for
        "seccomp", "cap-ng", "numa")),
)

_TARGETS = ("qemu-system-x86_64", "qemu-img", "tests/qtest/qos-test")


#: What of QEMU's tests the series for upstream have to pass, each built with that series alone.
UPSTREAM_TESTS = {
    "async": ("tests/unit/test-aio", "tests/unit/test-aio-multithread",
              "tests/unit/test-bdrv-drain", "tests/unit/test-block-iothread",
              "tests/unit/test-thread-pool"),
    "drain": ("tests/qtest/qos-test",),
    "icount": ("tests/qtest/icount-slot-test",),
    "iommu": ("tests/qtest/qos-test",),
    "nvme": ("tests/qtest/qos-test",),
    # Firmware under TCG that maps BARs, and that reads while others are mapped.
    "physmem": ("tests/qtest/vmgenid-test", "tests/qtest/tlb-view-test"),
    "qom": ("tests/unit/check-qom-interface", "tests/unit/check-qom-proplist"),
    "qtest": ("tests/qtest/qos-test",),
    "smc": ("tests/qtest/smc-store-test",),
}


def _python() -> Path:
    return paths.VENV / "bin/python"


def _env() -> dict[str, str]:
    # The environment's meson and ninja, whatever else is on the path.
    return {**steps.ccache_env(), "PATH": f"{paths.VENV / 'bin'}:{os.environ['PATH']}"}


def _configure(step: steps.Step, source: Path, build_dir: Path, *options: str) -> None:
    shutil.rmtree(build_dir, ignore_errors=True)
    build_dir.mkdir(parents=True)
    step.run([source / "configure", f"--python={_python()}", *options, "--cc=ccache gcc"],
             cwd=build_dir, env=_env())


def _link_firmware(build_dir: Path) -> None:
    """Let a QEMU run from its build directory find the firmware packages.

    There it looks below qemu-bundle/ for everything that has an absolute path.
    """
    for path in paths.FIRMWARE_DIRS:
        link = build_dir / "qemu-bundle" / path.relative_to("/")
        if not link.is_symlink():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)


def _ninja(step: steps.Step, build_dir: Path, jobs: int, *targets: str) -> None:
    step.run([paths.VENV / "bin/ninja", "-C", build_dir, f"-j{jobs}", *targets],
             env=_env(), parse=steps.ninja_progress)


def _base_inputs(tree: patches.Tree, options: Sequence[str] = CONFIGURE) -> dict[str, object]:
    """What the configured build directory and the stock binary are made from."""
    return {"source": tree.label, "root": str(tree.root), "configure": list(options)}


def _configure_once(name: str, tree: patches.Tree, build_dir: Path = paths.QEMU_BUILD,
                    options: Sequence[str] = CONFIGURE, title: str = "") -> None:
    """A build directory, configured for this tree."""
    steps.once(name, title or f"Configure {tree.label}", _base_inputs(tree, options),
               [build_dir / "build.ninja"],
               lambda step: _configure(step, tree.root, build_dir, *options))
    if options == CONFIGURE:  # guests boot from this directory, and QEMU's own tests do
        _link_firmware(build_dir)


def build_stock(own: Path | None, jobs: int) -> bool:
    """Build and keep the stock binary; True when it had to. build() has to follow."""
    tree = trees.prepare(sources.QEMU, own)
    inputs = _base_inputs(tree)
    stamp = steps.Stamp("qemu-stock")
    if stamp.current(inputs, paths.QEMU_STOCK):
        return False
    stamp.remove()
    steps.Stamp("qemu").remove()
    patches.remove_overlay(tree)
    patches.apply_series(tree, [])
    _configure_once("qemu-configure", tree)
    with steps.step("qemu-stock", "Build QEMU as it is (stock)") as step:
        _ninja(step, paths.QEMU_BUILD, jobs, "qemu-system-x86_64")
        steps.copy_atomic(paths.QEMU, paths.QEMU_STOCK)
    stamp.write(inputs)
    return True


def qtest_programs(build_dir: Path | None = None) -> list[Path]:
    """QEMU's test programs about our changes, and qos-test, which has its own about nvme."""
    build_dir = build_dir or paths.QEMU_BUILD
    path = build_dir / "meson-info/intro-tests.json"
    if not path.exists():
        return []
    names = {str(test["name"]).removeprefix("qtest-x86_64/")
             for test in json.loads(path.read_text("utf-8"))}
    found = sorted(name for name in names if name.startswith(("nvme-", "icount-")))
    return [build_dir / "tests/qtest" / name for name in [*found, "qos-test"]]


def version(binary: Path) -> str:
    """The version by `qemu-system-x86_64 --version`, or the reason why it does not run."""
    try:
        done = ask.run([binary, "--version"], timeout=20)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"does not run: {problem}"
    return done.stdout.splitlines()[0] if done.stdout else done.stderr.strip()


def _build_all(step: steps.Step, build_dir: Path, jobs: int) -> None:
    """The binary and the test programs."""
    _ninja(step, build_dir, jobs, *_TARGETS)
    # Only now meson has read the patched list of tests.
    tests = [str(path.relative_to(build_dir)) for path in qtest_programs(build_dir)]
    _ninja(step, build_dir, jobs, *tests)


def build_sanitized(name: str, own: Path | None, jobs: int) -> bool:
    """Build QEMU with our device once more, with sanitizers, from the tree that build() left."""
    worked = build(own, jobs)
    tree = trees.prepare(sources.QEMU, own)
    options, build_dir = SANITIZERS[name], paths.BUILD / name
    what = options[0].removeprefix("--enable-")
    inputs = {**_base_inputs(tree), "sanitizers": list(options)}
    stamp = steps.Stamp(name)
    with steps.step(name, f"Build {tree.label} with {what}") as step:
        if not stamp.current(inputs, build_dir / "build.ninja"):
            stamp.remove()
            _configure(step, tree.root, build_dir, *CONFIGURE, *options)
            _link_firmware(build_dir)
            stamp.write(inputs)
        if name == "qemu-tsan":  # the tests are one thread: those of the other build start it
            _ninja(step, build_dir, jobs, paths.QEMU.name, "qemu-img")
        else:
            _build_all(step, build_dir, jobs)
    return worked


def upstream_programs(series: Path) -> list[Path]:
    """The binary with a series for upstream alone, and the tests that it has to pass."""
    kept = paths.QEMU_UPSTREAM / series.name
    return [kept / Path(name).name for name in (paths.QEMU.name, *UPSTREAM_TESTS[series.name])]


def _build_series(tree: patches.Tree, directory: Path, jobs: int) -> bool:
    """Build QEMU with one series for upstream alone; True when it had to."""
    series, kept = patches.read_series(directory), upstream_programs(directory)
    inputs = {**_base_inputs(tree), "patches": steps.hash_files(series)}
    stamp = steps.Stamp(f"qemu-upstream-{directory.name}")
    if stamp.current(inputs, *kept):
        return False
    stamp.remove()
    steps.Stamp("qemu").remove()
    patches.remove_overlay(tree)
    patches.apply_series(tree, series)
    _configure_once("qemu-configure", tree)
    targets = (paths.QEMU.name, *UPSTREAM_TESTS[directory.name])
    with steps.step(f"qemu-upstream-{directory.name}",
                    f"Build QEMU with the series {directory.name} alone") as step:
        # The binary first: then meson has read the patched lists of tests.
        _ninja(step, paths.QEMU_BUILD, jobs, paths.QEMU.name)
        _ninja(step, paths.QEMU_BUILD, jobs, *targets)
        for target, program in zip(targets, kept, strict=True):
            steps.copy_atomic(paths.QEMU_BUILD / target, program)
    stamp.write(inputs)
    return True


def build_upstream(own: Path | None, jobs: int) -> bool:
    """Build QEMU with each series for upstream alone, and our device again; True when it had to.

    As the stock binary, they come from the build directory of the device: few steps differ.
    """
    tree = trees.prepare(sources.QEMU, own)
    worked = [_build_series(tree, series, jobs) for series in patches.upstream_series()]
    if any(worked):
        build(own, jobs)
    return any(worked)


def _bench_series() -> Iterator[tuple[Path, list[Path]]]:
    """What the binaries without our device have of our patches, beside the generator."""
    shared = patches.from_upstream(patches.read_series(paths.QEMU_PATCHES))
    yield paths.BENCH_PRISTINE, []
    yield paths.BENCH_WAKE, patches.read_series(paths.QEMU_UPSTREAM_PATCHES / "async")[:1]
    yield paths.BENCH_STOCK, shared
    yield paths.BENCH_VIRTIO, [*shared, *patches.read_series(paths.QEMU_BENCH_VIRTIO_PATCHES)]


def _build_bench_stock(tree: patches.Tree, jobs: int) -> None:
    """Configure, and build and keep the binaries without our device."""
    load = patches.read_series(paths.QEMU_BENCH_PATCHES)
    base, built = _base_inputs(tree, MEASURED), paths.QEMU_BENCH_BUILD / "build.ninja"
    for binary, series in _bench_series():
        inputs = {**base, "patches": steps.hash_files([*series, *load]),
                  "load": steps.hash_files(patches.load_map().values())}
        stamp = steps.Stamp(f"bench-{binary.name}")
        if stamp.current(inputs, binary, built):
            continue
        stamp.remove()
        patches.remove_overlay(tree)
        patches.apply_overlay(tree, patches.load_map())
        patches.apply_series(tree, [*series, *load])
        _configure_once("qemu-bench-configure", tree, paths.QEMU_BENCH_BUILD, MEASURED,
                        "Configure the builds to measure")
        with steps.step(f"bench-{binary.name}", f"Build {binary.name} to measure") as step:
            _ninja(step, paths.QEMU_BENCH_BUILD, jobs, "qemu-system-x86_64")
            steps.copy_atomic(paths.BENCH_CINT, binary)
        stamp.write(inputs)


def build_bench(own: Path | None, jobs: int) -> bool:
    """Build what `cint bench --device` measures: five binaries from one configure line."""
    tree = trees.prepare_bench(own)
    _build_bench_stock(tree, jobs)
    series = [*patches.read_series(paths.QEMU_PATCHES),
              *patches.read_series(paths.QEMU_BENCH_PATCHES)]
    changed = patches.apply_series(tree, series)
    files = {**patches.overlay_map(), **patches.load_map()}
    changed += patches.apply_overlay(tree, files)
    inputs = {"source": tree.label, "patches": steps.hash_files(series),
              "overlay": steps.hash_files(files.values())}
    stamp = steps.Stamp("qemu-bench")
    if not changed and stamp.current(inputs, paths.BENCH_CINT):
        return False
    stamp.remove()
    with steps.step("qemu-bench", "Build QEMU with the cint device to measure") as step:
        _ninja(step, paths.QEMU_BENCH_BUILD, jobs, "qemu-system-x86_64")
    stamp.write(inputs)
    return True


def _installed_files(build_dir: Path) -> list[str]:
    """What `meson install` takes from a build directory, as ninja's names."""
    targets = json.loads((build_dir / "meson-info/intro-targets.json").read_text("utf-8"))
    return [str(Path(name).relative_to(build_dir)) for target in targets
            if target["installed"] for name in target["filename"]]


def build_installable(own: Path | None, jobs: int) -> bool:
    """Build QEMU with our device and all that own guests use; True when it had to.

    From the same tree as the QEMU that is measured, in a directory of its own.
    """
    tree, changed = _device_tree(own)
    inputs = {**_base_inputs(tree, INSTALLED), **_device_inputs()}
    stamp = steps.Stamp("qemu-install")
    if not changed and stamp.current(inputs, paths.QEMU_INSTALL / paths.QEMU.name):
        return False
    stamp.remove()
    _configure_once("qemu-install-configure", tree, paths.QEMU_INSTALL, INSTALLED,
                    "Configure QEMU to install")
    with steps.step("qemu-install", f"Build QEMU to install ({tree.label})") as step:
        _ninja(step, paths.QEMU_INSTALL, jobs, *_installed_files(paths.QEMU_INSTALL))
    stamp.write(inputs, version=version(paths.QEMU_INSTALL / paths.QEMU.name), source=tree.label)
    return True


def stage(step: steps.Step, directory: Path) -> Path:
    """Lay :func:`build_installable`'s files out as below a prefix; returns that prefix."""
    step.run([paths.QEMU_INSTALL / "pyvenv/bin/meson", "install", "--no-rebuild", "--quiet",
              "--destdir", directory], cwd=paths.QEMU_INSTALL, env=_env())
    return directory / "usr/local"


def _device_tree(own: Path | None) -> tuple[patches.Tree, list[str]]:
    """The source with the device in it, and the files that this changed."""
    tree = trees.prepare(sources.QEMU, own)
    changed = patches.apply_series(tree, patches.read_series(paths.QEMU_PATCHES))
    return tree, changed + patches.apply_overlay(tree, patches.overlay_map())


def _device_inputs() -> dict[str, object]:
    """What the device is made from."""
    return {"patches": steps.hash_files(patches.read_series(paths.QEMU_PATCHES)),
            "overlay": steps.hash_files(patches.overlay_map().values())}


def build_port(tree: patches.Tree, build_dir: Path, name: str, jobs: int) -> None:
    """Build another version's tree, which is patched, with its tests; as the one measured is."""
    _configure_once(f"qemu-port-{name}", tree, build_dir)
    with steps.step("qemu-port", f"Build {tree.label}") as step:
        _build_all(step, build_dir, jobs)


def build(own: Path | None, jobs: int) -> bool:
    """Build QEMU with our device; True when there was something to do.

    An edit of a file of ours needs only the compiler: the files are linked into the tree.
    """
    tree, changed = _device_tree(own)
    _configure_once("qemu-configure", tree)
    inputs = {**_base_inputs(tree), **_device_inputs()}
    stamp = steps.Stamp("qemu")
    done = not changed and stamp.current(inputs, paths.QEMU, paths.QOS_TEST)
    if done and own is None:
        return False
    stamp.remove()
    with steps.step("qemu", f"Build QEMU with the cint device ({tree.label})") as step:
        _build_all(step, paths.QEMU_BUILD, jobs)
    stamp.write(inputs, version=version(paths.QEMU), source=tree.label)
    return not done
