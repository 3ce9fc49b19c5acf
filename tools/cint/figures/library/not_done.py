# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures of the papers that cannot be had here, and why."""

from cint.figures.model import NotDone

_DATABASE = ("needs {0} under a real load, which is not in the guest's image; no package of the "
             "distribution has it with the papers' changes")

NOT_DONE = (
    NotDone("cint-fig22", "cinterrupts", "RocksDB get latency and throughput",
            _DATABASE.format("RocksDB 6.4 with a database of 20 GB")),
    NotDone("cint-fig23", "cinterrupts", "YCSB on KVell", _DATABASE.format("KVell")),
    NotDone("cint-fig24", "cinterrupts", "latency of scans in KVell", _DATABASE.format("KVell")),
    NotDone("cint-tab3", "cinterrupts", "RocksDB with annotations",
            _DATABASE.format("RocksDB whose flushes and compactions are annotated")),
    NotDone("blk-fig3b", "blk-switch", "SPDK beside others: time slices of the CPU's scheduler",
            "is about a target of SPDK that polls; see spdk-corun for a driver in user space that "
            "shares a CPU"),
    NotDone("blk-fig3c", "blk-switch", "SPDK with priority: T by how long L sleeps",
            "as blk-fig3b"),
    NotDone("blk-fig3d", "blk-switch", "SPDK with priority: more L", "as blk-fig3b"),
    NotDone("blk-fig9", "blk-switch", "more and more threads of one L",
            "is Figure 7 with threads in place of processes, for SPDK's sake: to the kernel's "
            "block layer and scheduler they are the same"),
    NotDone("blk-fig12", "blk-switch", "more than 100 Gb/s", "needs two networks of that speed"),
    NotDone("blk-fig14", "blk-switch", "RocksDB", _DATABASE.format("RocksDB")),
    NotDone("vic-tab7", "vic", "SQLIOSim and GSBlaster",
            "both run on Windows only"),
    NotDone("vic-tab8", "vic", "TPC-C",
            "needs a database server and an array of 45 disks"),
)
