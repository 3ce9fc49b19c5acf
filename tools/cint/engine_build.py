# SPDX-License-Identifier: GPL-2.0-or-later
"""The repository's own meson project: policy engine with its tests, guest agent."""

import os

from cint import paths, steps, ui

_PROJECT = paths.ROOT / "meson.build"


def env() -> dict[str, str]:
    """The environment's meson and ninja, whatever else is on the path."""
    search = f"{paths.VENV / 'bin'}:{os.environ.get('PATH', '')}"
    return {**steps.ccache_env(), "PATH": search, "CC": "ccache gcc"}


def available() -> bool:
    """Whether the checkout has the project."""
    return _PROJECT.exists()


def _configure(step: steps.Step) -> None:
    meson = paths.VENV / "bin/meson"
    step.run([meson, "setup", paths.ENGINE_BUILD, paths.ROOT, "--buildtype=debugoptimized"],
             env=env())


def build(jobs: int) -> bool:
    """Build everything of the project; True when there was something to do.

    ninja decides: it takes a tenth of a second when nothing changed.
    """
    if not available():
        ui.detail("no meson.build in the checkout: the engine is not built")
        return False
    ninja = paths.VENV / "bin/ninja"
    with steps.step("engine", "Build the policy engine and the guest agent") as step:
        if not (paths.ENGINE_BUILD / "build.ninja").exists():
            _configure(step)
        _, lines = step.run([ninja, "-C", paths.ENGINE_BUILD, f"-j{jobs}"],
                            env=env(), parse=steps.ninja_progress)
        worked = not any("no work to do" in line for line in lines)
        if not worked:
            step.quiet()
    return worked
