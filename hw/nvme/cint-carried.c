/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: the tables of what goes along when the machine goes elsewhere, of the
 * device itself. Those of the engine and the models are in coalesce/carried.c
 * and model/carried.c.
 */
#include "qemu/osdep.h"

#include "cint-carried.h"
#include "cint-props.h"

static const CintField property_fields[] = {
    { .name = "value", .count = 1, .size = 8, .max = UINT64_MAX },
    { .name = NULL },
};

const CintField nvme_cint_controller_fields[] = {
    CINT_CARRY_ALL(CarriedController, arbitration),
    CINT_CARRY_ALL(CarriedController, status_records),
    CINT_CARRY_ALL(CarriedController, status_addr),
    CINT_CARRY_ARRAY(CarriedController, cd),
    { .name = NULL },
};

const CintField nvme_cint_cq_fields[] = {
    CINT_CARRY_ALL(CarriedCq, cqid),
    CINT_CARRY_ALL(CarriedCq, seq),
    CINT_CARRY_ALL(CarriedCq, full_tail),
    CINT_CARRY_ALL(CarriedCq, pointer_index),
    CINT_CARRY_ALL(CarriedCq, next_slot),
    CINT_CARRY_ALL(CarriedCq, first_uncovered),
    CINT_CARRY_ALL(CarriedCq, first_unreaped),
    CINT_CARRY_TIME(CarriedCq, asked_ns),
    CINT_CARRY_ALL(CarriedCq, turns),
    CINT_CARRY_BOOL(CarriedCq, pending),
    { .name = NULL },
};

static CintField config_fields[64];
const CintField *const nvme_cint_config_fields = config_fields;

#define LOG_WORDS(type, first, behind)  \
    ((offsetof(type, behind) - offsetof(type, first)) / 8)

const CintField nvme_cint_log_fields[] = {
    CINT_CARRY(NvmeCintLogRecord, cqes,
               LOG_WORDS(NvmeCintLogRecord, cqes, rsvd2672), 8, VALUE,
               UINT64_MAX),
    { .name = NULL },
};

const CintField nvme_cint_sq_log_fields[] = {
    CINT_CARRY(NvmeCintLogSq, commands,
               LOG_WORDS(NvmeCintLogSq, commands, buffers), 8, VALUE,
               UINT64_MAX),
    { .name = NULL },
};

const CintField nvme_cint_posted_fields[] = {
    CINT_CARRY_ALL(CarriedPosted, cqid),
    CINT_CARRY_MOST(CarriedPosted, class, NVME_CINT_NR_CLASSES - 1),
    CINT_CARRY_PAST(CarriedPosted, post_ns),
    CINT_CARRY_TIME(CarriedPosted, irq_ns),
    { .name = NULL },
};

const CintField nvme_cint_sq_fields[] = {
    CINT_CARRY_ALL(CarriedSq, sqid),
    CINT_CARRY_ALL(CarriedSq, backlog),
    CINT_CARRY_ALL(CarriedSq, fetched),
    CINT_CARRY_ALL(CarriedSq, marked),
    CINT_CARRY_ALL(CarriedSq, place),
    CINT_CARRY_PAST(CarriedSq, batch_ns),
    { .name = NULL },
};

const CintField nvme_cint_slot_fields[] = {
    CINT_CARRY_ALL(CarriedSlot, sqid),
    CINT_CARRY_ALL(CarriedSlot, slot),
    CINT_CARRY_PAST(CarriedSlot, time),
    { .name = NULL },
};

const CintField nvme_cint_command_fields[] = {
    CINT_CARRY_ALL(CarriedCommand, sqid),
    CINT_CARRY_ALL(CarriedCommand, order),
    CINT_CARRY_ALL(CarriedCommand, place),
    CINT_CARRY_BOOL(CarriedCommand, in_media),
    CINT_CARRY_BOOL(CarriedCommand, holds_slot),
    CINT_CARRY_ALL(CarriedCommand, status),
    CINT_CARRY_ALL(CarriedCommand, turn),
    CINT_CARRY_TIME(CarriedCommand, due_ns),
    CINT_CARRY_ARRAY(CarriedCommand, cmd),
    CINT_CARRY_ARRAY(CarriedCommand, cqe),
    { .name = NULL },
};

const NvmeCintLayout nvme_cint_layouts[CINT_NR_KINDS] = {
    [CINT_KIND_PROPERTY] = { "property", { property_fields } },
    [CINT_KIND_CONTROLLER] = { "controller", {
        nvme_cint_controller_fields, config_fields,
        cint_scope_fields, cint_arb_fields, cint_media_fields,
    } },
    [CINT_KIND_VECTOR] = { "vector", { property_fields } },
    [CINT_KIND_PAGE] = { "page", { property_fields } },
    [CINT_KIND_CQ] = { "cq", {
        nvme_cint_cq_fields, config_fields, cint_cq_fields,
        nvme_cint_log_fields,
    } },
    [CINT_KIND_POSTED] = { "posted", { nvme_cint_posted_fields } },
    [CINT_KIND_SQ] = { "sq", {
        nvme_cint_sq_fields, cint_sq_fields, cint_arb_sq_fields,
        nvme_cint_sq_log_fields,
    } },
    [CINT_KIND_RUNG] = { "rung", { nvme_cint_slot_fields } },
    [CINT_KIND_BATCH_END] = { "batch-end", { nvme_cint_slot_fields } },
    [CINT_KIND_CMD] = { "cmd", {
        nvme_cint_command_fields, cint_cmd_fields, cint_claim_fields,
    } },
};

uint32_t nvme_cint_width(NvmeCintKind kind)
{
    const CintField *const *tables = nvme_cint_layouts[kind].tables;
    uint32_t width = 0;
    int i;

    for (i = 0; i < CINT_MOST_TABLES && tables[i]; i++) {
        width += cint_carry_count(tables[i]);
    }
    return width;
}

uint32_t nvme_cint_limit(const NvmeCtrl *n, NvmeCintKind kind)
{
    uint32_t queues = n->params.max_ioqpairs + 1;
    uint64_t entries = (uint64_t)queues * (n->params.mqes + 1u);

    switch (kind) {
    case CINT_KIND_PROPERTY:
        return nvme_cint_nr_props();
    case CINT_KIND_CONTROLLER:
        return 1;
    case CINT_KIND_VECTOR:
        return n->params.msix_qsize;
    case CINT_KIND_PAGE:
        return CINT_WAITS_ENTRIES;
    case CINT_KIND_CQ:
    case CINT_KIND_SQ:
        return queues;
    default:
        return MIN(entries, INT32_MAX);
    }
}

void nvme_cint_free_saved(NvmeCint *cint)
{
    int kind;

    for (kind = 0; cint->saved && kind < CINT_NR_KINDS; kind++) {
        g_free(cint->saved->values[kind]);
    }
    g_clear_pointer(&cint->saved, g_free);
}

void nvme_cint_new_saved(NvmeCint *cint)
{
    int kind;

    nvme_cint_free_saved(cint);
    cint->saved = g_new0(NvmeCintSaved, 1);
    cint->saved->n = cint->n;
    for (kind = 0; kind < CINT_NR_KINDS; kind++) {
        cint->saved->width[kind] = nvme_cint_width(kind);
    }
}

void nvme_cint_list_config(void)
{
    const CintField *end = config_fields + ARRAY_SIZE(config_fields) - 1;
    const CintParam *param;
    CintField *field = config_fields;

    for (param = cint_params; param->name; param++) {
        g_assert(field < end);
        *field++ = (CintField) {
            .name = param->name,
            .offset = param->offset,
            .count = 1,
            .size = sizeof(uint64_t),
            .max = param->max,
        };
    }
}
