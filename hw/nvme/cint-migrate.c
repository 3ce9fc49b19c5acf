/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint: what goes along when the machine goes elsewhere, in a subsection that
 * is there with cint=on alone. QEMU since 11.1 asks for it; before, no nvme
 * device can be migrated.
 *
 * The description for QEMU is made of the records' tables, cint-carried.c.
 */
#include "qemu/osdep.h"
#include "migration/vmstate.h"
#include "qemu/error-report.h"
#include "system/runstate.h"

#include "cint-arb.h"
#include "cint-carried.h"
#include "cint-cq.h"
#include "cint-hooks.h"
#include "cint-migrate.h"
#include "cint-park.h"

/* ---- Going on ---- */

/* The machine runs again, here or where it came from; ctrl.c kicks the SQs. */
static void resume(NvmeCtrl *n)
{
    uint32_t i;

    nvme_cint_free_saved(n->cint);
    for (i = 0; i <= n->params.max_ioqpairs; i++) {
        if (n->cq[i]) {
            nvme_cint_cq_resume(n->cq[i]->cint);
            nvme_cint_park_resume(n->cq[i]->cint);
        }
    }
}

static void run_state_changed(void *opaque, bool running, RunState state)
{
    NvmeCtrl *n = opaque;

    if (running && n->cint->resume) {
        n->cint->resume = false;
        resume(n);
    }
}

/* ---- For QEMU ---- */

static bool is_on(void *opaque)
{
    NvmeCtrl *n = opaque;

    return n->cint;
}

static int pre_load(void *opaque)
{
    NvmeCtrl *n = opaque;

    if (!n->cint) {
        error_report("nvme: cint is off here and on where the machine comes "
                     "from");
        return -EINVAL;
    }
    nvme_cint_new_saved(n->cint);
    return 0;
}

/* Before anything is allocated for it. */
static int check_sizes(void *opaque, int version_id)
{
    NvmeCintSaved *saved = opaque;
    int kind;

    for (kind = 0; kind < CINT_NR_KINDS; kind++) {
        const char *name = nvme_cint_layouts[kind].name;
        uint32_t limit = nvme_cint_limit(saved->n, kind);
        uint32_t width = nvme_cint_width(kind);

        if (saved->width[kind] != width) {
            error_report("nvme: cint: %s: there are %u values, not %u", name,
                         saved->width[kind], width);
            return -EINVAL;
        }
        if (saved->count[kind] > limit) {
            error_report("nvme: cint: %s: there are %u, not from 0 to %u",
                         name, saved->count[kind], limit);
            return -EINVAL;
        }
    }
    return 0;
}

static const VMStateDescription vmstate_sizes = {
    .name = "nvme/cint/sizes",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = check_sizes,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_ARRAY(width, NvmeCintSaved, CINT_NR_KINDS),
        VMSTATE_UINT32_ARRAY(count, NvmeCintSaved, CINT_NR_KINDS),
        VMSTATE_END_OF_LIST()
    },
};

/* Made of the tables once a controller has cint on; nothing until then. */
static VMStateDescription vmstate_record[CINT_NR_KINDS];
static VMStateField saved_fields[1 + CINT_NR_KINDS + 1] = {
    VMSTATE_END_OF_LIST()
};

static const VMStateDescription vmstate_saved = {
    .name = "nvme/cint/saved",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = saved_fields,
};

static const VMStateDescription vmstate_state = {
    .name = "nvme/cint/state",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(saved, NvmeCint, vmstate_saved, NvmeCintSaved),
        VMSTATE_END_OF_LIST()
    },
};

const VMStateDescription nvme_cint_vmstate = {
    .name = "nvme/cint",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = is_on,
    .pre_load = pre_load,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(cint, NvmeCtrl, vmstate_state, NvmeCint),
        VMSTATE_END_OF_LIST()
    },
};

static void add_field(GArray *fields, const CintField *field, size_t *at)
{
    VMStateField vmfield = {
        .name = field->name,
        .offset = *at,
        .size = sizeof(uint64_t),
        .num = field->count,
        .info = &vmstate_info_uint64,
        .flags = field->count > 1 ? VMS_ARRAY : VMS_SINGLE,
    };

    *at += field->count * sizeof(uint64_t);
    g_array_append_val(fields, vmfield);
}

static const VMStateField *end_fields(GArray *fields)
{
    const VMStateField end = VMSTATE_END_OF_LIST();

    g_array_append_val(fields, end);
    return (const VMStateField *)g_array_free(fields, false);
}

static void describe_record(NvmeCintKind kind)
{
    GArray *fields = g_array_new(false, true, sizeof(VMStateField));
    const NvmeCintLayout *layout = &nvme_cint_layouts[kind];
    const CintField *field;
    size_t at = 0;
    int i;

    for (i = 0; i < CINT_MOST_TABLES && layout->tables[i]; i++) {
        for (field = layout->tables[i]; field->name; field++) {
            add_field(fields, field, &at);
        }
    }
    vmstate_record[kind] = (VMStateDescription) {
        .name = g_strconcat("nvme/cint/", layout->name, NULL),
        .version_id = 1,
        .minimum_version_id = 1,
        .fields = end_fields(fields),
    };
}

static void describe_saved(void)
{
    const VMStateField end = VMSTATE_END_OF_LIST();
    int kind;

    saved_fields[0] = (VMStateField) {
        .name = "sizes",
        .size = sizeof(NvmeCintSaved),
        .vmsd = &vmstate_sizes,
        .flags = VMS_STRUCT,
    };
    for (kind = 0; kind < CINT_NR_KINDS; kind++) {
        saved_fields[1 + kind] = (VMStateField) {
            .name = nvme_cint_layouts[kind].name,
            .offset = offsetof(NvmeCintSaved, values[kind]),
            .num_offset = offsetof(NvmeCintSaved, count[kind]),
            .size = nvme_cint_width(kind) * sizeof(uint64_t),
            .vmsd = &vmstate_record[kind],
            .flags = VMS_STRUCT | VMS_VARRAY_UINT32 | VMS_POINTER | VMS_ALLOC,
        };
    }
    saved_fields[1 + CINT_NR_KINDS] = end;
}

/* Of the lists that there are, once. */
static void describe_all(void)
{
    int kind;

    if (saved_fields[0].name) {
        return;
    }
    nvme_cint_list_config();
    for (kind = 0; kind < CINT_NR_KINDS; kind++) {
        describe_record(kind);
    }
    describe_saved();
}

void nvme_cint_migrate_init(NvmeCtrl *n)
{
    describe_all();
    n->cint->run_state = qemu_add_vm_change_state_handler(run_state_changed, n);
}

void nvme_cint_migrate_exit(NvmeCtrl *n)
{
    qemu_del_vm_change_state_handler(n->cint->run_state);
    nvme_cint_free_saved(n->cint);
}
