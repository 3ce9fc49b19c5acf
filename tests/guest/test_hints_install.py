# SPDX-License-Identifier: GPL-2.0-or-later
"""The module put into a guest by those who would use it: `./cint hints`, and the package by dpkg.

The guest's kernel is the distribution's, and its root a system of that kernel's own release, made
by mmdebstrap, in which DKMS builds the module with that release's compiler. The image that boots
only finds the root. What is marked is the device's count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import release
from conftest import log_root
from marks import Marks, hintio, sent
from release import inside, well
from serving import Guest

from cint.build import dkms
from cint.build import hints as module

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=release.kernels(*release.OTHERS))
def guest(request: pytest.FixtureRequest,
          tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """The distribution's kernel, with its release's root mounted."""
    with release.booted(request.param, tmp_path_factory.mktemp("system"),
                        log_root() / f"hints-install-{request.param}") as running:
        yield running


def read_is_marked(guest: Guest) -> bool:
    """Whether a read that is waited for is urgent, by the device."""
    found = sent(guest, hintio("--api=pread --count=16"))
    assert found in (Marks(16), Marks(urgent=16))
    return found.urgent == 16


def test_install_and_remove(guest: Guest) -> None:
    """By ./cint hints: built by DKMS for this kernel and loaded; then as if it had never been."""
    _, version = release.kernel()
    status, said = inside(guest, "./cint hints")
    assert status == 1
    assert f"ok   Linux {version}: has what the module needs" in said
    assert f"ok   headers: /lib/modules/{version}/build" in said
    assert f"no   {module.NAME} is not loaded" in said
    assert not read_is_marked(guest)

    said = well(guest, "./cint hints --install")
    assert f"{module.NAME} {dkms.version()} is installed for Linux {version}, and loaded" in said
    assert re.search(rf"^{dkms.NAME}/{dkms.version()}, {re.escape(version)}, x86_64: installed",
                     well(guest, "dkms status"), re.MULTILINE)
    assert read_is_marked(guest)
    said = well(guest, "./cint hints")
    assert f"ok   {module.NAME} is loaded, and on" in said
    assert re.search(r"^ok   nvme\d+ (wait|direct): 16 urgent", said, re.MULTILINE)
    status, said = inside(guest, "./cint hints --install")
    assert status == 1
    assert "is there already" in said

    assert f"{module.NAME} is removed" in well(guest, "./cint hints --remove")
    assert well(guest, "dkms status") == ""
    assert inside(guest, f"modinfo {module.NAME}")[0] == 1
    assert inside(guest, f"ls -d /usr/src/{dkms.NAME}-*")[0] == 2
    assert not read_is_marked(guest)


def test_the_package(guest: Guest) -> None:
    """By dpkg: the same, for each kernel of the machine, and at the next start."""
    package = well(guest, "./cint hints --deb /root").splitlines()[-1]
    well(guest, f"dpkg -i {package}")
    assert read_is_marked(guest)
    assert inside(guest, f"cat /usr/lib/modules-load.d/{dkms.NAME}.conf")[1] == f"{module.NAME}\n"
    well(guest, f"dpkg -r {dkms.NAME}-dkms")
    assert not read_is_marked(guest)
    assert well(guest, "dkms status") == ""
    assert inside(guest, f"modinfo {module.NAME}")[0] == 1
