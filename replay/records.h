/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What became of each command, as records on standard output. docs/replay.md
 * has their layout.
 */
#ifndef REPLAY_RECORDS_H
#define REPLAY_RECORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <glib.h>

#include "event.h"

#define LONGEST_CLASS   14
#define LONGEST_REASON  32
#define NO_INTERRUPT    (-1)

/* Times are TIME_UNKNOWN where the log does not say. */
typedef struct CommandRecord {
    int64_t number;             /* among all commands */
    int64_t submitted, due, posted, told, reaped;
    int64_t interrupt;          /* the number of the one that told of it */
    uint16_t cqid, sqid, cid;
    uint8_t hints;
    bool by_record;             /* the guest has it by a status record */
} CommandRecord;

typedef struct BatchRecord {
    int64_t begin, end;
    uint32_t count;
    uint16_t sqid;
} BatchRecord;

typedef struct InterruptRecord {
    int64_t at;
    uint32_t vector, covered;
    uint16_t cqid;
    char class[LONGEST_CLASS], reason[LONGEST_REASON];
} InterruptRecord;

typedef struct DeliveryRecord {
    int64_t number;             /* among all deliveries */
    int64_t at, until;
    int64_t interrupt;          /* that it is, or NO_INTERRUPT */
    uint32_t vector, dest;
    bool is_logical;            /* dest is */
} DeliveryRecord;

typedef struct Records Records;

/* Times are divided by @scale. */
Records *records_new(double scale);
void records_command(Records *records, const CommandRecord *command);
void records_batch(Records *records, const BatchRecord *batch);
void records_interrupt(Records *records, const InterruptRecord *interrupt);
void records_delivery(Records *records, const DeliveryRecord *delivery);

/* What a reader should know: lines. */
void records_remarks(const GString *text);

/* The last one. Frees @records. */
void records_end(Records *records, uint64_t events, int64_t first,
                 int64_t last);

#endif /* REPLAY_RECORDS_H */
