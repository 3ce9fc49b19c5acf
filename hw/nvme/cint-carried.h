/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: the records of what goes along when the machine goes elsewhere.
 *
 * A record is a row of 64-bit values: of the controller, of a queue, of a
 * command. Its fields are tables (coalesce/carry.h), from which the description
 * for QEMU is made as well, so each value has its name there.
 *
 * cint-save.c fills them, cint-load.c checks and takes them, in the main loop,
 * while the machine is stopped.
 */
#ifndef HW_NVME_CINT_CARRIED_H
#define HW_NVME_CINT_CARRIED_H

#include "hw/pci/msix.h"

#include "cint-state.h"
#include "coalesce/carried.h"
#include "model/carried.h"

typedef enum NvmeCintKind {
    CINT_KIND_PROPERTY,
    CINT_KIND_CONTROLLER,
    CINT_KIND_VECTOR,
    CINT_KIND_PAGE,
    CINT_KIND_CQ,
    CINT_KIND_POSTED,
    CINT_KIND_SQ,
    CINT_KIND_RUNG,
    CINT_KIND_BATCH_END,
    CINT_KIND_CMD,
    CINT_NR_KINDS,
} NvmeCintKind;

struct NvmeCintSaved {
    NvmeCtrl *n;
    uint32_t width[CINT_NR_KINDS];   /* values of a record */
    uint32_t count[CINT_NR_KINDS];   /* records */
    uint64_t *values[CINT_NR_KINDS];
};

#define CINT_MOST_CDS    (PCI_MSIX_FLAGS_QSIZE + 1)

typedef struct CarriedController {
    uint32_t arbitration;
    uint32_t status_records;
    uint64_t status_addr;
    uint64_t cd[DIV_ROUND_UP(CINT_MOST_CDS, 64)];
} CarriedController;

typedef struct CarriedCq {
    uint32_t cqid;
    uint32_t seq;
    uint32_t full_tail;
    uint32_t pointer_index;
    uint32_t next_slot;
    uint32_t first_uncovered;
    uint32_t first_unreaped;
    int64_t asked_ns;
    uint64_t turns;
    bool pending;               /* counted for the pin */
} CarriedCq;

typedef struct CarriedPosted {
    uint32_t cqid;
    uint8_t class;
    int64_t post_ns;
    int64_t irq_ns;             /* CINT_CARRY_NEVER: not told of */
} CarriedPosted;

typedef struct CarriedSq {
    uint32_t sqid;
    uint32_t backlog;
    uint32_t fetched;
    uint32_t marked;
    uint32_t place;             /* in the line for slots */
    int64_t batch_ns;
} CarriedSq;

typedef struct CarriedSlot {
    uint32_t sqid;
    uint32_t slot;
    int64_t time;               /* not of a batch's end */
} CarriedSlot;

#define CINT_CMD_WORDS   (sizeof(NvmeCmd) / 8)
#define CINT_CQE_WORDS   (sizeof(NvmeCqe) / 8)
#define CINT_APART_ORDER UINT32_MAX  /* the engine does not know the command */

typedef struct CarriedCommand {
    uint32_t sqid;
    uint32_t order;             /* among those in flight from the SQ */
    uint32_t place;             /* in cq->req_list, if it is not in media */
    bool in_media;
    bool holds_slot;
    uint16_t status;
    uint64_t turn;
    int64_t due_ns;
    uint64_t cmd[CINT_CMD_WORDS];
    uint64_t cqe[CINT_CQE_WORDS];
} CarriedCommand;

#define CINT_MOST_TABLES    5

/* The tables of a record, one behind the other. */
typedef struct NvmeCintLayout {
    const char *name;
    const CintField *tables[CINT_MOST_TABLES];
} NvmeCintLayout;

extern const NvmeCintLayout nvme_cint_layouts[CINT_NR_KINDS];

extern const CintField nvme_cint_controller_fields[];
extern const CintField nvme_cint_cq_fields[];
extern const CintField nvme_cint_log_fields[];
extern const CintField nvme_cint_sq_log_fields[];
extern const CintField nvme_cint_posted_fields[];
extern const CintField nvme_cint_sq_fields[];
extern const CintField nvme_cint_slot_fields[];
extern const CintField nvme_cint_command_fields[];

/* The engine's parameters, in the order of their list; and the policy's. */
extern const CintField *const nvme_cint_config_fields;

/* Makes that table, once. */
void nvme_cint_list_config(void);

/* How many values a record has. */
uint32_t nvme_cint_width(NvmeCintKind kind);

/* How many records of it the controller can have. */
uint32_t nvme_cint_limit(const NvmeCtrl *n, NvmeCintKind kind);

void nvme_cint_new_saved(NvmeCint *cint);
void nvme_cint_free_saved(NvmeCint *cint);

#endif /* HW_NVME_CINT_CARRIED_H */
