/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an engine has to have: the functions by which drive.h reaches what it
 * drives, and what these take.
 */
#ifndef KVSTORE_ENGINE_H
#define KVSTORE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEPTH_MAX 1024u
#define LANES_MAX 16u

/* Who drives, and how a worker waits where that is this process. */
enum engine { ENGINE_KERNEL, ENGINE_POLL, ENGINE_INTERRUPT, ENGINE_COALESCED };

/* Whom the device is to tell at once. */
enum hints { HINTS_KERNEL, HINTS_NONE, HINTS_URGENT, HINTS_BARRIER };

struct drive_options {
    enum engine engine;
    bool buffered;              /* kernel: through the page cache */
    bool sync;                  /* a write has ended when it is on the medium */
    enum hints hints;
    unsigned depth;             /* most I/Os of a batch, 1 to DEPTH_MAX */
    uint64_t irq_cost_ns;       /* user: that an interrupt takes more */
};

/* That the drive can reach. Zeroed, and begins at a page. */
struct memory {
    uint8_t *data;
    void *of;                   /* the engine's */
};

/* A page of a lane's memory, to or from a byte of the drive. */
struct page_io {
    bool is_read;
    void *data;
    uint64_t at;
};

/* One worker's. */
struct lane {
    struct drive *drive;
    const struct memory *memory;
    unsigned under_way;
};

struct drive {
    const struct drive_engine *engine;
    struct drive_options options;
    const char *path;           /* or the controller's address */
    uint64_t bytes;             /* that there are; 0: as many as are written */
};

/* An engine's functions, as drive.h's, which say more. */
struct drive_engine {
    void (*get)(struct drive *drive, size_t bytes, struct memory *memory);
    void (*put)(struct drive *drive, struct memory *memory);
    void (*move)(struct drive *drive, bool is_read,
                 const struct memory *memory, size_t bytes, uint64_t at);
    void (*settle)(struct drive *drive);
    void (*close)(struct drive *drive);
    struct lane *(*open_lane)(struct drive *drive, unsigned number);
    void (*submit)(struct lane *lane, const struct page_io *ios, unsigned n);
    void (*await)(struct lane *lane);
    void (*close_lane)(struct lane *lane);
};

#endif
