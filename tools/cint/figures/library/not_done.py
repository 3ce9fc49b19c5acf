# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures of the papers that are not here, and why."""

from cint.figures.model import NotDone

#: What would run, and is in no image of a guest that the tool makes.
_ROCKSDB = ("no image of a guest has RocksDB and its data yet; the distribution's db_bench would "
            "do as it is")
_MARKED = ("as cint-fig22; its flushes and compactions would have to be marked, by rules of the "
           "preload library")
_KVELL = ("KVell is in no package of the distribution; a store like it runs as apps/kvell.toml, "
          "and has no figure yet")

NOT_DONE = (
    NotDone("cint-fig22", "cinterrupts", "RocksDB get latency and throughput", _ROCKSDB),
    NotDone("cint-fig23", "cinterrupts", "YCSB on KVell", _KVELL),
    NotDone("cint-fig24", "cinterrupts", "latency of scans in KVell", _KVELL),
    NotDone("cint-tab3", "cinterrupts", "RocksDB with annotations", _MARKED),
    NotDone("cint-tab5", "cinterrupts", "KVell's throughput and latency", _KVELL),
    NotDone("cint-tab6", "cinterrupts", "RocksDB beside a tool that dumps a database", _MARKED),
    NotDone("cint-tab7", "cinterrupts", "RocksDB and KVell on the same cores; also Table 8",
            "needs both of cint-fig22 and cint-fig23"),
    NotDone("lm-410", "vault", "direct I/O of Linux 4.9 and 4.10",
            "compares two kernels' ways of direct I/O, both long gone"),
    NotDone("spdk-tab1", "spdk", "RocksDB on SPDK's file system",
            "needs SPDK's blobfs, or a RocksDB whose files are written by the user-space driver"),
    NotDone("blk-fig12", "blk-switch", "more than 100 Gb/s", "needs two networks of that speed"),
    NotDone("blk-fig14", "blk-switch", "RocksDB", _ROCKSDB),
    NotDone("vic-tab7", "vic", "SQLIOSim and GSBlaster",
            "both run on Windows only; a proxy of their loads has not been written yet"),
    NotDone("vic-tab8", "vic", "TPC-C; also Table 9, Figures 3 and 4",
            "no image of a guest has a database server yet, and the array has 45 disks"),
)
