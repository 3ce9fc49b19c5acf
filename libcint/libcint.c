/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The library's face on the engine. What is opaque there is the engine's own
 * here; numbers are the same, which is asserted.
 */
#include <string.h>

#include "coalesce.h"
#include "libcint.h"

#define SAME(a, b)  _Static_assert((int)(a) == (int)(b), #a " is not " #b)

SAME(LIBCINT_NONE, CINT_FIRE_NONE);
SAME(LIBCINT_FULL, CINT_FIRE_FULL);
SAME(LIBCINT_URGENT, CINT_FIRE_URGENT);
SAME(LIBCINT_UNMARKED, NVME_CINT_HINT_NONE);
SAME(LIBCINT_HINT_URGENT, NVME_CINT_HINT_URGENT);
SAME(LIBCINT_HINT_BARRIER, NVME_CINT_HINT_BARRIER);
SAME(LIBCINT_PLAIN, CINT_CONTENT_PLAIN);
SAME(LIBCINT_NOW, CINT_CONTENT_NOW);
SAME(LIBCINT_AHEAD, CINT_CONTENT_AHEAD);
_Static_assert(LIBCINT_NEVER == CINT_NO_DEADLINE, "another time is never");

static CintCq *cq_of(struct libcint_cq *cq)
{
    return (CintCq *)cq;
}

static const CintCq *const_cq(const struct libcint_cq *cq)
{
    return (const CintCq *)cq;
}

static CintSq *sq_of(struct libcint_sq *sq)
{
    return (CintSq *)sq;
}

static struct libcint_action action_of(CintAction action)
{
    return (struct libcint_action) {
        .fire = action.fire,
        .reason = action.reason,
        .covered = action.covered,
    };
}

const char *libcint_version(void)
{
    return LIBCINT_VERSION;
}

size_t libcint_size(enum libcint_object object)
{
    switch (object) {
    case LIBCINT_CONFIG:
        return sizeof(CintConfig);
    case LIBCINT_SCOPE:
        return sizeof(CintScope);
    case LIBCINT_CQ:
        return sizeof(CintCq);
    case LIBCINT_SQ:
        return sizeof(CintSq);
    case LIBCINT_CMD:
        return sizeof(CintCmd);
    }
    return 0;
}

const char *libcint_reason_name(uint32_t reason)
{
    return cint_reason_name(reason < NVME_CINT_NR_REASONS
                            ? reason : NVME_CINT_NR_REASONS);
}

void libcint_scope_init(struct libcint_scope *scope)
{
    cint_scope_init((CintScope *)scope);
}

void libcint_cq_init(struct libcint_cq *cq, struct libcint_scope *scope,
                     uint32_t entries, const struct libcint_config *config)
{
    cint_cq_init(cq_of(cq), (CintScope *)scope, entries,
                 (const CintConfig *)config);
}

void libcint_sq_init(struct libcint_sq *sq, struct libcint_cq *cq)
{
    cint_sq_init(sq_of(sq), cq_of(cq));
}

struct libcint_action libcint_sq_delete(struct libcint_sq *sq, int64_t now)
{
    return action_of(cint_delete_sq(sq_of(sq), now));
}

/* What version 0.1 knows of a command; members behind it came later. */
#define COMMAND_SIZE_0_1    (offsetof(struct libcint_command, buffer) + \
                             sizeof(uint64_t))

/* As much of what the caller knows as it has; the rest is 0. */
static struct libcint_command known(const struct libcint_command *command)
{
    struct libcint_command all = { 0 };
    size_t size;

    if (command) {
        size = command->size ? command->size : COMMAND_SIZE_0_1;
        memcpy(&all, command, size < sizeof(all) ? size : sizeof(all));
    }
    return all;
}

void libcint_submit(struct libcint_sq *sq, struct libcint_cmd *cmd, int64_t now,
                    const struct libcint_command *command)
{
    struct libcint_command what = known(command);
    CintCmd *of = (CintCmd *)cmd;
    uint8_t hints = what.hint & NVME_CINT_HINT_BOTH;

    of->page = what.buffer ? cint_waits_page(what.buffer) : 0;
    of->content = what.content < CINT_NR_CONTENTS ? what.content
                                                  : CINT_CONTENT_PLAIN;
    cint_submit(sq_of(sq), of, now, hints,
                hints ? 1u << NVME_CINT_SOURCE_CDW0 : 0);
}

struct libcint_action libcint_batch_end(struct libcint_sq *sq, int64_t now)
{
    return action_of(cint_doorbell(sq_of(sq), now));
}

struct libcint_action libcint_complete(struct libcint_sq *sq,
                                       struct libcint_cmd *cmd, int64_t now,
                                       bool failed)
{
    return action_of(cint_complete(sq_of(sq), (CintCmd *)cmd, now, failed));
}

struct libcint_action libcint_pass_end(struct libcint_cq *cq, int64_t now)
{
    return action_of(cint_pass_end(cq_of(cq), now));
}

struct libcint_action libcint_cancel(struct libcint_sq *sq,
                                     struct libcint_cmd *cmd, int64_t now)
{
    return action_of(cint_cancel(sq_of(sq), (CintCmd *)cmd, now));
}

struct libcint_action libcint_head(struct libcint_cq *cq, int64_t now,
                                   uint32_t head)
{
    return action_of(cint_head(cq_of(cq), now, head));
}

int64_t libcint_deadline(const struct libcint_cq *cq)
{
    return cint_deadline(const_cq(cq));
}

struct libcint_action libcint_timer(struct libcint_cq *cq, int64_t now)
{
    int64_t due = libcint_deadline(cq);

    return action_of(cint_timer_late(cq_of(cq), due < now ? due : now, now));
}

struct libcint_action libcint_configure(struct libcint_cq *cq, int64_t now,
                                        const struct libcint_config *config)
{
    return action_of(cint_configure(cq_of(cq), now,
                                    (const CintConfig *)config));
}

struct libcint_action libcint_has_classes(struct libcint_cq *cq, int64_t now,
                                          bool yes)
{
    return action_of(cint_set_record(cq_of(cq), now, yes));
}

uint32_t libcint_tail(const struct libcint_cq *cq)
{
    return const_cq(cq)->tail;
}

uint32_t libcint_pending(const struct libcint_cq *cq)
{
    return const_cq(cq)->pending;
}
