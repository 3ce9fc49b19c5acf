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
    NotDone("blk-fig12", "blk-switch", "more than 100 Gb/s", "needs two networks of that speed"),
    NotDone("blk-fig14", "blk-switch", "RocksDB", _DATABASE.format("RocksDB")),
    NotDone("vic-tab7", "vic", "SQLIOSim and GSBlaster",
            "both run on Windows only"),
    NotDone("vic-tab8", "vic", "TPC-C",
            "needs a database server and an array of 45 disks"),
)
