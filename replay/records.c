/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Records of a kind are written together, in blocks.
 */
#include <math.h>
#include <string.h>

#include "print.h"
#include "records.h"

#define MAGIC           "CINTLIFE"
#define VERSION         1
#define BLOCK_RECORDS   512
#define MAX_BYTES       64

typedef enum Kind {
    KIND_COMMAND = 1,
    KIND_BATCH,
    KIND_INTERRUPT,
    KIND_DELIVERY,
    KIND_REMARKS,               /* bytes of text */
    KIND_END,
    NR_KINDS,
} Kind;

typedef struct Block {
    uint8_t bytes[BLOCK_RECORDS * MAX_BYTES];
    size_t used;
    uint32_t count;
} Block;

struct Records {
    double scale;
    Block block[NR_KINDS];
};

static inline uint8_t *put(uint8_t *to, uint64_t value, unsigned bytes)
{
    unsigned i;

    for (i = 0; i < bytes; i++) {
        to[i] = value >> 8 * i;
    }
    return to + bytes;
}

static inline uint8_t *put_time(uint8_t *to, const Records *records,
                                int64_t ns)
{
    if (ns != TIME_UNKNOWN && records->scale != 1) {
        ns = llrint(ns / records->scale);
    }
    return put(to, ns, 8);
}

static uint8_t *put_text(uint8_t *to, const char *text, size_t length)
{
    memcpy(to, text, length);
    return to + length;
}

static void print_words(uint32_t a, uint32_t b)
{
    uint8_t words[8];

    put(put(words, a, 4), b, 4);
    print_text((char *)words, sizeof(words));
}

static void flush_block(Records *records, Kind kind)
{
    Block *block = &records->block[kind];

    if (block->count) {
        print_words(kind, block->count);
        print_text((char *)block->bytes, block->used);
        block->count = block->used = 0;
    }
}

static uint8_t *next_record(Records *records, Kind kind)
{
    if (records->block[kind].count == BLOCK_RECORDS) {
        flush_block(records, kind);
    }
    return records->block[kind].bytes + records->block[kind].used;
}

static void end_record(Records *records, Kind kind, const uint8_t *end)
{
    Block *block = &records->block[kind];

    block->used = end - block->bytes;
    block->count++;
}

Records *records_new(double scale)
{
    Records *records = g_new0(Records, 1);

    records->scale = scale;
    print_text(MAGIC, strlen(MAGIC));
    print_words(VERSION, 0);
    return records;
}

void records_command(Records *records, const CommandRecord *command)
{
    uint8_t *p = next_record(records, KIND_COMMAND);

    p = put(p, command->number, 8);
    p = put_time(p, records, command->submitted);
    p = put_time(p, records, command->due);
    p = put_time(p, records, command->posted);
    p = put_time(p, records, command->told);
    p = put_time(p, records, command->reaped);
    p = put(p, command->interrupt, 8);
    p = put(p, command->cqid, 2);
    p = put(p, command->sqid, 2);
    p = put(p, command->cid, 2);
    p = put(p, command->hints, 1);
    p = put(p, command->by_record, 1);
    end_record(records, KIND_COMMAND, p);
}

void records_batch(Records *records, const BatchRecord *batch)
{
    uint8_t *p = next_record(records, KIND_BATCH);

    p = put_time(p, records, batch->begin);
    p = put_time(p, records, batch->end);
    p = put(p, batch->count, 4);
    p = put(p, batch->sqid, 4);
    end_record(records, KIND_BATCH, p);
}

void records_interrupt(Records *records, const InterruptRecord *interrupt)
{
    uint8_t *p = next_record(records, KIND_INTERRUPT);

    p = put_time(p, records, interrupt->at);
    p = put(p, interrupt->vector, 4);
    p = put(p, interrupt->covered, 4);
    p = put(p, interrupt->cqid, 2);
    p = put_text(p, interrupt->class, LONGEST_CLASS);
    p = put_text(p, interrupt->reason, LONGEST_REASON);
    end_record(records, KIND_INTERRUPT, p);
}

void records_delivery(Records *records, const DeliveryRecord *delivery)
{
    uint8_t *p = next_record(records, KIND_DELIVERY);

    p = put(p, delivery->number, 8);
    p = put_time(p, records, delivery->at);
    p = put_time(p, records, delivery->until);
    p = put(p, delivery->interrupt, 8);
    p = put(p, delivery->vector, 4);
    p = put(p, delivery->dest, 4);
    p = put(p, delivery->is_logical, 8);
    end_record(records, KIND_DELIVERY, p);
}

void records_remarks(const GString *text)
{
    size_t done, part;

    for (done = 0; done < text->len; done += part) {
        part = MIN(text->len - done, BLOCK_RECORDS * MAX_BYTES);
        print_words(KIND_REMARKS, part);
        print_text(text->str + done, part);
    }
}

void records_end(Records *records, uint64_t events, int64_t first,
                 int64_t last)
{
    uint8_t *p;
    Kind kind;

    p = next_record(records, KIND_END);
    p = put(p, events, 8);
    p = put_time(p, records, first);
    p = put_time(p, records, last);
    end_record(records, KIND_END, p);
    for (kind = KIND_COMMAND; kind < NR_KINDS; kind++) {
        flush_block(records, kind);
    }
    g_free(records);
}
