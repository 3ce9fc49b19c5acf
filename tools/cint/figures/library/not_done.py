# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures of the papers that are not here, and why."""

from cint.figures.model import NotDone

_STORE = "its store runs in cint-fig23; what this one asks of it is not declared yet"
_MARKED = ("as cint-fig22; flushes, compactions and the dump would have to be marked, by rules of "
           "the preload library")

NOT_DONE = (
    NotDone("cint-fig22", "apps", "RocksDB get latency and throughput",
            "apps/rocksdb.toml runs the distribution's db_bench; no figure is made of it yet"),
    NotDone("cint-fig24", "apps", "latency of scans in KVell", _STORE),
    NotDone("cint-tab3", "apps", "RocksDB with annotations", _MARKED),
    NotDone("cint-tab5", "apps", "KVell's throughput and latency of scans", _STORE),
    NotDone("cint-tab6", "apps", "RocksDB beside a tool that dumps a database", _MARKED),
    NotDone("cint-tab7", "apps", "RocksDB and KVell on the same cores; also Table 8",
            "needs the disks of cint-fig22 and cint-fig23 in one guest"),
    NotDone("lm-410", "vault", "direct I/O of Linux 4.9 and 4.10",
            "compares two kernels' ways of direct I/O, both long gone"),
    NotDone("spdk-tab1", "apps", "RocksDB on SPDK's file system",
            "needs SPDK's blobfs, or a RocksDB whose files are written by the user-space driver"),
    NotDone("blk-fig12", "blk-switch", "more than 100 Gb/s", "needs two networks of that speed"),
    NotDone("blk-fig14", "apps", "RocksDB beside T-apps",
            "needs RocksDB's disk and a second namespace for T in one guest of six CPUs"),
    NotDone("vic-tab7", "apps", "SQLIOSim and GSBlaster",
            "both run on Windows only; a proxy of their loads has not been written yet"),
    NotDone("vic-tab8", "apps", "TPC-C; also Table 9, Figures 3 and 4",
            "apps/postgres.toml has a database server, but no TPC-C, and the array has 45 disks"),
)
