# SPDX-License-Identifier: GPL-2.0-or-later
"""workloads.py: fio job texts and the scaling of a person's own file."""

import configparser
import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from cint import units
from cint.errors import UsageError
from cint.measure import workloads
from cint.measure.workloads import Timing

TIMING = Timing(1.0, 0.05, seed=3)


def jobs(name: str, k: float = 1) -> configparser.ConfigParser:
    """A built-in workload, parsed."""
    parser = configparser.ConfigParser(allow_no_value=True, interpolation=None)
    parser.read_string(workloads.render(workloads.BUILT_IN[name], TIMING, k))
    return parser


def test_sync_is_depth_one() -> None:
    job = jobs("sync")
    assert (job["sync"]["ioengine"], job["sync"]["iodepth"]) == ("psync", "1")
    assert job["global"]["cpus_allowed"] == "0"


def test_edges_survive_fios_parser() -> None:
    for name in ("exec_prerun", "exec_postrun"):
        assert not {";", "#"} & set(jobs("sync")["global"][name])
        assert "${" not in jobs("sync")["global"][name]


def test_async_batches() -> None:
    job = jobs("async")["async"]
    assert [job[f"iodepth{s}"] for s in ("", "_batch_submit", "_batch_complete_min",
                                        "_batch_complete_max")] == ["256", "16", "16", "16"]


@pytest.mark.parametrize("name", workloads.BUILT_IN)
def test_the_text_is_the_files(name: str) -> None:
    """jobs/NAME.fio, with what it includes, is what is run, besides what counts and schedules."""
    common, text = ((workloads.JOBS / f"{one}.fio").read_text("utf-8") for one in ("common", name))
    environment = {"DEVICE": "/dev/nvme0n1", "RUNTIME": "2500000us", "RAMP": "125000us",
                   "SEED": "3", "CPUS": "0"}
    text = re.sub(r"(?m)^(;.*|cpus_allowed=.*)?\n", "",
                  text.replace("include common.fio\n", common))
    for variable, value in environment.items():
        text = text.replace(f"${{{variable}}}", value)
    made = workloads.render(workloads.BUILT_IN[name], TIMING, 2.5)
    assert ("cpus_allowed=0\n" in made) == (name != "classes")
    assert re.sub(r"(?m)^(exec_(pre|post)run|cpus_allowed)=.*\n", "", made) == text


def test_a_job_file_that_is_marked_differs_by_its_engine() -> None:
    plain, marked = (workloads.for_guest(workloads.BUILT_IN["mixed"], hints).template
                     for hints in (False, True))
    assert plain.replace("ioengine=libaio\n", "ioengine=hint_libaio\nhint=unmarked\n") == marked
    assert plain != marked


def test_a_minimum_of_one_completes_all() -> None:
    assert "complete_max=256" in workloads.async_job(256, 1, 1)


def test_mixed_has_both() -> None:
    assert jobs("mixed").sections() == ["global", "async", "sync"]


def test_mixed_gives_the_sync_job_a_short_slice() -> None:
    for marked in (False, True):
        workload = workloads.for_guest(workloads.BUILT_IN["mixed"], marked)
        parser = configparser.ConfigParser(allow_no_value=True, interpolation=None)
        parser.read_string(workloads.render(workload, TIMING, 3))
        assert parser["sync"]["exec_prerun"].startswith("(slice $PPID/$$ 300000 && echo cint-pre ")
        # a thread as the others are: the command names the one that has started it
        assert "thread" not in parser["sync"]
        assert "exec_prerun" not in parser["async"]


def test_times_are_scaled() -> None:
    job = jobs("sync", k=3)["global"]
    assert (job["runtime"], job["ramp_time"]) == ("3000000us", "150000us")
    assert job["randseed"] == "3"
    assert workloads.guest_seconds(workloads.BUILT_IN["sync"], TIMING, 3) == pytest.approx(3.15)


@pytest.mark.parametrize("text", ["foo", "sync,sync", "", "sync,,async"])
def test_refused(text: str) -> None:
    with pytest.raises(UsageError):
        units.each_once(workloads.parse, "--workload")(text)


OWN = """\
; a comment
[global]
filename=${DEVICE}
runtime=2
ramp_time = 500ms
rate_iops=3k,,900
rate=1m
thinktime=10
thinktime_spin=5us
bs=4k
[one]
rw=randread
[two]
rw=write
"""


def test_own_file_is_scaled(tmp_path: Path) -> None:
    path = tmp_path / "my job.fio"
    path.write_text(OWN)
    own = workloads.load_job_file(path)
    text = workloads.render(own, TIMING, 2)
    assert own.name == "my-job"
    assert own.split
    for line in ("filename=/dev/nvme0n1", "runtime=4000000us", "ramp_time=1000000us",
                 "rate_iops=1536,,450", "rate=524288", "thinktime=20us", "thinktime_spin=10us",
                 "bs=4k", "[two]", "; a comment"):
        assert line in text.splitlines()
    as_typed = OWN.replace("${DEVICE}", "/dev/nvme0n1")
    assert workloads.render(own, TIMING, 1) == (
        f"[global]\nrandseed={TIMING.seed}\nexec_prerun=(sh /tmp/cint-edge pre $PPID)\n"
        f"exec_postrun=(sh /tmp/cint-edge post $PPID)\n\n{as_typed}")
    path.write_text(f"{OWN}exec_postrun=sync\n")
    plain = workloads.load_job_file(path)
    assert workloads.render(plain, TIMING, 1) == f"{as_typed}exec_postrun=sync\n"
    assert workloads.guest_seconds(own, TIMING, 2) == pytest.approx(5.0)


def test_another_runtime_for_an_own_file(tmp_path: Path) -> None:
    path = tmp_path / "j.fio"
    path.write_text("[global]\nfilename=${DEVICE}\nruntime=9\n[one]\ntimeout = 3s\nrw=read\n"
                    "[two]\nrw=write\n")
    own = workloads.lasting(workloads.load_job_file(path), 0.25)
    assert own.template == ("[global]\nruntime=250000us\nfilename=${DEVICE}\n"
                            "[one]\nruntime=250000us\nrw=read\n"
                            "[two]\nruntime=250000us\nrw=write\n")
    assert "runtime=750000us" in workloads.render(own, TIMING, 3)
    assert workloads.guest_seconds(own, TIMING, 3) == pytest.approx(0.75)


def test_jobs_have_names_that_a_shell_takes(tmp_path: Path) -> None:
    """fio redirects to a file of a job's name; whoever waits for the job waits for it still."""
    path = tmp_path / "j.fio"
    path.write_text("[global]\nfilename=${DEVICE}\n[my job]\n[a/b]\nwait_for=my job\n"
                    "[c]\nname = it's \"c\"\n[ok.1]\n[dé-2] ; $x\n")
    own = workloads.load_job_file(path)
    assert own.template == ("[global]\nfilename=${DEVICE}\n[my-job]\n[a-b]\nwait_for=my-job\n"
                            "[c]\nname = it-s-c-\n[ok.1]\n[dé-2] ; $x\n")
    assert dict(own.renamed) == {"my job": "my-job", "a/b": "a-b", "it's \"c\"": "it-s-c-"}
    path.write_text(f"{path.read_text()}exec_prerun=true\n")
    assert not workloads.load_job_file(path).renamed
    own = workloads.parse_job("randread:name=a b", TIMING)
    assert "name=a-b\n" in own.template
    assert own.renamed == (("a b", "a-b"),)


@pytest.mark.parametrize("names", [("a b", "a-b"), ("a b", "a/b")])
def test_jobs_whose_names_would_be_one_are_refused(tmp_path: Path, names: tuple[str, str]) -> None:
    path = tmp_path / "j.fio"
    path.write_text("[global]\nfilename=${DEVICE}\n" + "".join(f"[{name}]\n" for name in names))
    with pytest.raises(UsageError, match="'a b' would be called 'a-b', as another one"):
        workloads.load_job_file(path)


@pytest.mark.parametrize(("option", "kept"), [
    ("verify=crc32c", False), (" verify = md5", False), ("verify=null", True),
    ("verify_state_save=0", True), ("; verify=md5", True)])
def test_what_is_read_back_has_to_be_kept(tmp_path: Path, option: str, kept: bool) -> None:
    path = tmp_path / "j.fio"
    path.write_text(f"[a]\nfilename=${{DEVICE}}\nrw=write\n{option}\n")
    with nullcontext() if kept else pytest.raises(UsageError, match=r"j: verify=.*keeps nothing"):
        workloads.check_kept(workloads.load_job_file(path))


def test_a_remark_may_name_what_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "j.fio"
    path.write_text("; ${SIZE}\n[global]\nfilename=/dev/nvme0n1\n[a]\nrw=read # ${X}\n")
    assert workloads.load_job_file(path).name == "j"


def test_a_value_that_is_no_number_stays() -> None:
    text, remarks = workloads.scale_job_text("runtime=$x\nrate=,\n", 3)
    assert "runtime=$x" in text
    assert remarks == ["rate=, -> ,"]


@pytest.mark.parametrize(("content", "named"), [
    ("[global]\nbs=4k\n", "no job section"), ("", "no job section"),
    ("[a]\noutput=/tmp/x\n", "output"), ("[a]\n" + "x" * 70000, "64 KiB"),
    ("[a]\nread_iolog=x\n", "read_iolog"), ("[a]\nrw=read\n", r"\[a\] has nothing as its filename"),
    ("[global]\nfilename=${DEVICE}\n[a]\nfilename=/etc/passwd\n", r"\[a\] has '/etc/passwd'"),
    ("[a]\nfilename=${DEVICE}\n[b]\nrw=read\n", r"\[b\] has nothing"),
    ("[a]\nfilename=${DEVICE}\nbs=${SIZE}\n", "SIZE.*is not in the guest"),
    ("[a]\nfilename=${DEVICE}\n  include x.fio\n", "include x.fio' is not in the guest")])
def test_own_file_refused(tmp_path: Path, content: str, named: str) -> None:
    path = tmp_path / "j.fio"
    path.write_text(content)
    with pytest.raises(UsageError, match=named):
        workloads.load_job_file(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.fio: there is no such file"):
        workloads.load_job_file(tmp_path / "none.fio")
