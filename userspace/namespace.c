/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: namespaces: which there are, and of what size.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "admin.h"
#include "caller.h"
#include "namespace.h"
#include "nvme.h"

#define MIN_LBADS   9           /* blocks of 512 bytes */
#define MAX_LBADS   31
#define IDS         (NVME_PAGE / sizeof(uint32_t))

/* What Identify Namespace says, without what no command can do. */
static int check(struct cintio *dev, const uint8_t *page,
                 struct cintio_namespace *ns, struct cintio_error *err)
{
    uint32_t format, shift;

    memcpy(&ns->blocks, page, 8);
    memcpy(&format, page + 128 + 4 * (page[26] & 0xf), 4);
    shift = format >> 16 & 0xff;
    if (!ns->blocks) {
        return cintio_fail(err, -ENOENT, "%s has no namespace %u",
                           dev->info.address, ns->nsid);
    }
    if (shift < MIN_LBADS || shift > MAX_LBADS ||
        1u << shift > dev->info.max_transfer) {
        return cintio_fail(err, -ENOTSUP, "%s: namespace %u has blocks of 2^%u "
                           "bytes; a command moves %u to %u bytes",
                           dev->info.address, ns->nsid, shift, 1u << MIN_LBADS,
                           dev->info.max_transfer);
    }
    ns->block_size = 1u << shift;
    return !(format & 0xffff) ? 0 :
        cintio_fail(err, -ENOTSUP, "%s: namespace %u has metadata",
                    dev->info.address, ns->nsid);
}

int cintio_identify_namespace(struct cintio *dev, uint32_t nsid,
                              struct cintio_namespace *ns,
                              struct cintio_error *err)
{
    struct nvme_sqe sqe = {
        .opcode = NVME_ADMIN_IDENTIFY, .nsid = nsid,
        .cdw10 = NVME_CNS_NAMESPACE,
    };
    uint8_t page[NVME_PAGE] = { 0 };
    int ret = cintio_command(dev, NULL, &sqe, page, sizeof(page), NULL, err);

    if (ret > 0 && ret != NVME_SC_INVALID_NAMESPACE) {
        return cintio_fail(err, -EIO, "%s refused to identify namespace %u: "
                           "status %03xh", dev->info.address, nsid, ret);
    }
    if (ret < 0) {
        return ret;
    }
    if (ret) {
        memset(page, 0, sizeof(page));
    }
    *ns = (struct cintio_namespace) { .size = sizeof(*ns), .nsid = nsid };
    return check(dev, page, ns, err);
}

int cintio_namespaces(struct cintio *dev, uint32_t *ids, unsigned int max,
                      struct cintio_error *err)
{
    struct nvme_sqe sqe = {
        .opcode = NVME_ADMIN_IDENTIFY, .cdw10 = NVME_CNS_ACTIVE,
    };
    uint32_t list[IDS];
    unsigned int n = 0;
    int ret;

    cintio_enter(dev);
    ret = cintio_must(dev, NULL, "list its namespaces", &sqe, list,
                      sizeof(list), NULL, err);
    cintio_leave(dev);
    if (ret) {
        return ret;
    }
    for (; n < IDS && list[n]; n++) {
        if (n < max) {
            ids[n] = list[n];
        }
    }
    return n;
}

/* One, with those that were opened before, all of it until the end. */
struct cintio_spaces {
    struct cintio_namespace ns;
    struct cintio_spaces *before;
};

static bool is_same(const struct cintio_namespace *a,
                    const struct cintio_namespace *b)
{
    return a->nsid == b->nsid && a->block_size == b->block_size &&
           a->blocks == b->blocks;
}

/* The one that was opened before, if it is as it was then. */
static const struct cintio_namespace *
find_or_add(struct cintio *dev, const struct cintio_namespace *ns)
{
    struct cintio_spaces *space;

    for (space = dev->namespaces; space; space = space->before) {
        if (is_same(&space->ns, ns)) {
            return &space->ns;
        }
    }
    space = malloc(sizeof(*space));
    if (!space) {
        return NULL;
    }
    *space = (struct cintio_spaces) { .ns = *ns, .before = dev->namespaces };
    dev->namespaces = space;
    return &space->ns;
}

int cintio_namespace_open(struct cintio *dev, uint32_t nsid,
                          const struct cintio_namespace **out,
                          struct cintio_error *err)
{
    struct cintio_namespace ns;
    int ret;

    cintio_enter(dev);
    ret = cintio_identify_namespace(dev, nsid, &ns, err);
    cintio_leave(dev);
    if (ret) {
        return ret;
    }
    pthread_mutex_lock(&dev->tables_lock);
    *out = find_or_add(dev, &ns);
    pthread_mutex_unlock(&dev->tables_lock);
    return *out ? 0 : cintio_fail(err, -ENOMEM, "out of memory");
}

void cintio_forget_namespaces(struct cintio *dev)
{
    struct cintio_spaces *space, *before;

    for (space = dev->namespaces; space; space = before) {
        before = space->before;
        free(space);
    }
}
