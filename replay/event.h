/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What happens on a queue, whatever the input's form.
 */
#ifndef REPLAY_EVENT_H
#define REPLAY_EVENT_H

#include <glib.h>

#include "coalesce.h"

#define TIME_UNKNOWN    INT64_MIN
/* Leaves room for every parameter to be added to it. */
#define TIME_MAX        (INT64_MAX / 2)
#define NEVER           INT64_MAX

typedef enum EventKind {
    EVENT_SUBMIT,
    EVENT_DOORBELL,
    EVENT_COMPLETE,
    EVENT_CANCEL,
    EVENT_HEAD,
    EVENT_POINTER,
    EVENT_SET,
    /* Of QEMU's trace only: */
    EVENT_MEDIA,        /* the command will be done at @due */
    EVENT_RECORDED,     /* the traced device sent an interrupt */
} EventKind;

typedef struct Event {
    EventKind kind;
    bool error;                 /* complete: its status is not success */
    bool urgent;                /* recorded: of the urgent class */
    uint8_t hints, sources;     /* submit */
    uint8_t content;            /* submit: CintContent */
    uint32_t page;              /* submit: of its buffer, 0 if unknown */
    uint16_t cqid, sqid, cid;   /* cqid: 0 where the input names no CQ */
    uint32_t index;             /* head, pointer */
    bool slots;                 /* index is no free-running one but a slot */
    uint32_t tail;              /* complete: the slot after this CQE's */
    int64_t t;                  /* ns, or TIME_UNKNOWN */
    int64_t due;                /* media */
    const CintParam *param;     /* set */
    uint64_t value;
} Event;

#endif /* REPLAY_EVENT_H */
