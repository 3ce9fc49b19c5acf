# SPDX-License-Identifier: GPL-2.0-or-later
"""The examples at the end of each verb's help and in the manual page.

A test parses every line, so that none of them is out of date.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: By verb: the command, and what it does.
EXAMPLES: Mapping[str, Sequence[tuple[str, str]]] = {
    "build": (("./cint build", "all that guests need: once, and after an edit"),
              ("./cint build -j 4 --linux-src ~/linux", "with a kernel tree of your own"),
              ("./cint build qemu", "only QEMU")),
    "run": (("./cint run", "policy cint+ooo, a shell on this terminal"),
            ("./cint run --policy static20 --media p3700 --trace cint", "another device, traced"),
            ("./cint run --copy my.fio -- fio my.fio", "one command, and its exit code"),
            ("./cint run --own -- -drive file=my.qcow2,if=virtio", "your own guest"),
            ("./cint run --print", "the qemu-system-x86_64 line, to start it by hand"),
            ("./cint run --gdb", "stopped before the first instruction, for gdb")),
    "install": (("./cint install --prefix ~/qemu-cint", "then ~/qemu-cint/bin/qemu-system-x86_64"),
                ("./cint install --prefix ~/qemu-cint --remove", "all of it, and nothing else")),
    "libvirt": (
        ("./cint libvirt --prefix ~/qemu-cint --drive vm.qcow2 > vm.xml", "for virsh define"),
        ("./cint libvirt --prefix ~/qemu-cint --domain web.before.xml > web.xml",
         "a domain, changed"),
        ("./cint libvirt --prefix ~/qemu-cint --policy adaptive", "the lines to add by hand")),
    "hints": (("./cint hints", "what this machine's kernel can give, and gives"),
              ("./cint hints --deb /tmp", "a package for the guest, built there by DKMS")),
    "compare": (("./cint compare", "7 policies, 3 workloads"),
                ("./cint compare --policy default,adaptive:delta=10us --workload sync", ""),
                ("./cint compare --job randread:bs=16k,iodepth=32", "your own job"),
                ("./cint compare --fio my.fio --media p3700", "your own jobs, another medium"),
                ("./cint compare --app apps/sqlite.toml", "a program in a Debian of its own"),
                ("./cint compare --time real --repeat 5", "real time, with KVM where it works"),
                ("./cint compare --label before", "a name for `./cint diff before after`"),
                ("./cint compare --dry-run", "what would run; starts nothing")),
    "replay": (("./cint replay --policy default,adaptive,cint load.trace", "side by side"),
               ("./cint replay --optimal 2us --policy default,auto load.trace",
                "and how far from the best"),
               ("./cint replay --from-trace --policy cint:thr=16 qemu.log",
                "what --trace cint has printed"),
               ("./cint replay --from blkparse --policy default,cint blkparse.txt",
                "a load recorded on any Linux"),
               ("./cint replay --from-trace --sweep delta=1us..50us,thr=1..256 qemu.log",
                "heat maps, a proposal")),
    "figure": (("./cint figure --list", "what there is"),
               ("./cint figure cint-fig8 vic-tab1", "these"),
               ("./cint figure cint-fig8 --policy pointer", "a policy beside the paper's"),
               ("./cint figure cint-fig9 --guest distro --hints module,off",
                "with the distribution's kernel"),
               ("./cint figure --set vic", "all of a paper"),
               ("./cint figure --stale", "which stored numbers are not of this tree"),
               ("./cint figure --all --quick", "a look at all, never a pass")),
    "results": (("./cint results", "the newest first"),
                ("./cint results --json", "for programs")),
    "show": (("./cint show", "the last comparison"), ("./cint show before", "one by its label")),
    "diff": (("./cint diff before", "against the last one"),
             ("./cint diff before after", "two of them, by label")),
    "bench": (("./cint bench", "engine and device"),
              ("./cint bench --engine", "only the engine, in seconds")),
    "calibrate": (("./cint calibrate", ""),
                  ("./cint calibrate --json", "one JSON document")),
    "worker": (("./cint worker --scheduler", "in one terminal"),
               ("./cint worker tcp://127.0.0.1:8786", "in others, or on other machines"),
               ("./cint compare --cluster tcp://127.0.0.1:8786", "has its guests run there")),
    "test": (("./cint test", "all suites"),
             ("./cint test unit qtest", "two of them"),
             ("./cint test guest -k hints", "tests whose name has that word"),
             ("./cint test --list", "their names"),
             ("./cint test tool --full --seed random", "the slow ones too, other random numbers")),
    "patches": (("./cint patches check", "that the series apply"),
                ("./cint patches refresh --linux-src ~/linux --base v6.12.107",
                 "a series from commits"),
                ("./cint patches export ~/qemu-cint --qemu-src ~/qemu", "a branch of one")),
    "port": (("./cint port --qemu-src ~/qemu", "apply, build, test"),
             ("./cint port --qemu-src ~/qemu --apply-only", "which patches fit"),
             ("./cint port --linux-src ~/linux", "the guest's patches on another kernel")),
    "doctor": (("./cint doctor", ""), ("./cint doctor --json", "for a report")),
    "clean": (("./cint clean -n", "what would go"), ("./cint clean --runs", "the store of runs")),
    "completion": (
        ("./cint completion bash > ~/.local/share/bash-completion/completions/cint", ""),
        ("./cint completion zsh > ~/.zfunc/_cint", "a directory in $fpath"),
        ("./cint completion fish > ~/.config/fish/completions/cint.fish", "")),
    "docs": (("./cint docs", "the site; prints the page to open"),
             ("./cint docs man", "the manual page; man -l shows it"),
             ("./cint docs check", "that the documents name what there is")),
}


def text(verb: str) -> str:
    """The examples of a verb as they stand in its help; empty if it has none here."""
    lines = EXAMPLES.get(verb, ())
    width = max((len(command) for command, what in lines if what), default=0)
    # Long commands would push all remarks out of the screen.
    width = min(width, 44)
    body = [f"  {command.ljust(width)}   # {what}" if what else f"  {command}"
            for command, what in lines]
    return "\n".join(["examples:", *body]) if body else ""
