/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The media profiles, a line each: the name as typed, the name in the code,
 * latency of a read and of a write (ns), commands served at a time, spread of a
 * burst and jitter of a command (ns), what a KiB read and a KiB written add
 * (ns), and the bandwidth of reads and of writes (bytes/s). 0 is no cost, or no
 * limit.
 *
 * The papers name drives and quote end-to-end times; the media's share is
 * derived from those.
 *
 * To be included where MEDIA() says what is wanted of a line. The tool reads
 * this file as text (tools/cint/device/properties.py).
 */
/* The block backend's own timing. */
MEDIA("none", NONE, 0, 0, 0, 0, 0, 0, 0, 0, 0),
/*
 * 10 us for a sync 4 KiB read, 3 us of which are software. The papers' drive
 * is a DC P4800X, whose data sheet has 550 K reads and 500 K writes of 4 KiB a
 * second. Its lone reads have a standard deviation of 1.3 us, which is 2.252 us
 * / sqrt(3). The spread is that of a burst, so that a batch stays in order.
 */
MEDIA("optane", OPTANE, 7000, 7000, 8, 2252, 0, 0, 0, 2252800000, 2048000000),
/* 80 us with a standard deviation of 28 us, which is 48 us / sqrt(3). */
MEDIA("p3700", P3700, 76000, 76000, 40, 0, 48000, 0, 0, 0, 0),
/* The end points of the device range in cinterrupts Figures 3 and 4. */
MEDIA("gen2", GEN2, 3500, 3500, 8, 0, 0, 0, 0, 0, 0),
MEDIA("sata", SATA, 100000, 100000, 8, 0, 0, 0, 0, 0, 0),
/* Le Moal: 512 B in 3.16 us from user space with polling. */
MEDIA("dram", DRAM, 2900, 2900, 1, 0, 0, 0, 0, 0, 0),
/*
 * Jiang: reads of 4 and 128 KiB take 12 and 38 us, writes 4 and 61 us; about
 * 3.2 and 2.15 GB/s. The two sizes give slope and intercept.
 */
MEDIA("zssd", ZSSD, 11160, 2160, 64, 0, 0, 210, 460, 3200000000, 2150000000),
MEDIA("ram", RAM, 0, 0, 0, 0, 0, 0, 0, 0, 0),
MEDIA("ssd80", SSD80, 80000, 80000, 64, 0, 0, 0, 0, 0, 0),
/* vIC: 8 outstanding reads give 30.5 KIOPS, the array stops at 53 K. */
MEDIA("array", ARRAY, 260000, 260000, 14, 0, 0, 0, 0, 0, 0),
MEDIA("custom", CUSTOM, 0, 0, 0, 0, 0, 0, 0, 0, 0),
