/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "vcpus.h"

/*
 * Kept of a vector or a queue at the most. A log without messages decides on
 * interrupts that are never sent, one without heads has nobody consume.
 */
#define MOST_KEPT       4096

#define NR_VECTORS      (MAX_VECTOR + 1)
#define NR_QUEUES       65536

struct Vcpus {
    Records *records;
    int64_t deliveries;
    Sent sent;                      /* whose delivery is the next, or none */
    GQueue decided[NR_VECTORS];     /* of Sent */
    /* Of DeliveryRecord, until the guest has consumed; by queue. */
    GQueue full[NR_QUEUES], by_record[NR_QUEUES];
};

static const Sent none = { .number = NO_INTERRUPT };

Vcpus *vcpus_new(Records *records)
{
    Vcpus *vcpus = g_new0(Vcpus, 1);

    vcpus->records = records;
    vcpus->sent = none;
    return vcpus;
}

static void write_oldest(Vcpus *vcpus, GQueue *open, int64_t until)
{
    DeliveryRecord *delivery = g_queue_pop_head(open);

    delivery->until = until;
    records_delivery(vcpus->records, delivery);
    g_free(delivery);
}

static void write_all(Vcpus *vcpus, GQueue *open, int64_t until)
{
    while (open->length) {
        write_oldest(vcpus, open, until);
    }
}

void vcpus_free(Vcpus *vcpus)
{
    unsigned i;

    for (i = 0; i < NR_VECTORS; i++) {
        while (vcpus->decided[i].length) {
            g_free(g_queue_pop_head(&vcpus->decided[i]));
        }
    }
    for (i = 0; i < NR_QUEUES; i++) {
        write_all(vcpus, &vcpus->full[i], TIME_UNKNOWN);
        write_all(vcpus, &vcpus->by_record[i], TIME_UNKNOWN);
    }
    g_free(vcpus);
}

void vcpus_decided(Vcpus *vcpus, uint16_t vector, const Sent *sent)
{
    GQueue *queue = &vcpus->decided[vector];
    Sent *kept = g_new(Sent, 1);

    *kept = *sent;
    vcpus->sent = none;
    g_queue_push_tail(queue, kept);
    if (queue->length > MOST_KEPT) {
        g_free(g_queue_pop_head(queue));
    }
}

/* The vector is the last word; of those decided on, the oldest is sent. */
bool vcpus_message(Vcpus *vcpus, const char *p, const char *end)
{
    g_autofree Sent *sent = NULL;
    Word word, last = { NULL, 0 };
    uint64_t vector;

    while ((word = word_next(&p, end)).length) {
        last = word;
    }
    if (!word_number(last, UINT32_MAX, &vector)) {
        return false;
    }
    if (vector < NR_VECTORS) {
        sent = g_queue_pop_head(&vcpus->decided[vector]);
    }
    vcpus->sent = sent ? *sent : none;
    return true;
}

typedef enum ApicField {
    APIC_DEST,
    APIC_DEST_MODE,
    APIC_DELIVERY_MODE,
    APIC_VECTOR,
    NR_APIC_FIELDS,
} ApicField;

static const char *const apic_names[NR_APIC_FIELDS] = {
    [APIC_DEST]             = "dest",
    [APIC_DEST_MODE]        = "dest_mode",
    [APIC_DELIVERY_MODE]    = "delivery_mode",
    [APIC_VECTOR]           = "vector",
};

/* Pairs of a name and a number. Returns those found, or -1. */
static int read_apic(const char *p, const char *end, uint64_t *value)
{
    unsigned found = 0, i;
    uint64_t number;
    Word key;

    word_next(&p, end);         /* the event's name */
    while ((key = word_next(&p, end)).length) {
        if (!word_number(word_next(&p, end), UINT32_MAX, &number)) {
            return -1;
        }
        for (i = 0; i < NR_APIC_FIELDS; i++) {
            if (word_is(key, apic_names[i])) {
                value[i] = number;
                found |= 1u << i;
            }
        }
    }
    return found;
}

static void keep(Vcpus *vcpus, const Sent *sent, DeliveryRecord *delivery)
{
    GQueue *open = sent->by_record ? &vcpus->by_record[sent->cqid]
                                   : &vcpus->full[sent->cqid];

    g_queue_push_tail(open, delivery);
    if (open->length > MOST_KEPT) {
        write_oldest(vcpus, open, TIME_UNKNOWN);
    }
}

static void deliver(Vcpus *vcpus, const uint64_t *value, const Sent *sent,
                    int64_t now)
{
    DeliveryRecord *delivery = g_new(DeliveryRecord, 1);

    *delivery = (DeliveryRecord) {
        .number = vcpus->deliveries++,
        .at = now,
        .until = TIME_UNKNOWN,
        .interrupt = sent->number,
        .vector = value[APIC_VECTOR],
        .dest = value[APIC_DEST],
        .is_logical = value[APIC_DEST_MODE],
    };
    if (sent->number == NO_INTERRUPT) {
        records_delivery(vcpus->records, delivery);
        g_free(delivery);
    } else {
        delivery->at = sent->at;
        keep(vcpus, sent, delivery);
    }
}

bool vcpus_delivery(Vcpus *vcpus, const char *p, const char *end, int64_t now)
{
    uint64_t value[NR_APIC_FIELDS] = { 0 };
    int found = read_apic(p, end, value);
    Sent sent = vcpus->sent;

    if (found < 0) {
        return false;
    }
    vcpus->sent = none;
    /* Fixed and lowest-priority ones alone are of a device. */
    if (found & 1 << APIC_DELIVERY_MODE && value[APIC_DELIVERY_MODE] > 1) {
        return true;
    }
    if (found != (1 << NR_APIC_FIELDS) - 1) {
        return false;
    }
    deliver(vcpus, value, &sent, now);
    return true;
}

void vcpus_restarted(Vcpus *vcpus, uint16_t cqid)
{
    GList *link, *next;
    unsigned i;

    for (i = 0; i < NR_VECTORS; i++) {
        for (link = vcpus->decided[i].head; link; link = next) {
            Sent *sent = link->data;

            next = link->next;
            if (sent->cqid == cqid) {
                g_free(sent);
                g_queue_delete_link(&vcpus->decided[i], link);
            }
        }
    }
}

void vcpus_went_on(Vcpus *vcpus, uint16_t cqid, int64_t at)
{
    write_all(vcpus, &vcpus->by_record[cqid], at);
}

void vcpus_reaped(Vcpus *vcpus, uint16_t cqid, int64_t at)
{
    vcpus->sent = none;
    write_all(vcpus, &vcpus->full[cqid], at);
    write_all(vcpus, &vcpus->by_record[cqid], at);
}
