/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Golden vectors: a load, the interrupts that the engine must send for it, and
 * what other readings of the papers would send instead. Each vector becomes a
 * test of the engine, one of an independent model that has to agree, and one
 * for each rival, whose answer has to differ.
 */
#ifndef TESTS_UNIT_GOLDEN_H
#define TESTS_UNIT_GOLDEN_H

typedef struct GoldenSuite {
    const char *path;                       /* "/vectors" */
    /* Runs the engine on a vector and asserts that it answers as expected. */
    void (*test_engine)(const void *vector);
    /* The interrupts for a vector as read by @reading. The caller frees it. */
    char *(*model)(const void *vector, const void *reading);
    const void *ours;                       /* the reading that is meant */
} GoldenSuite;

typedef struct GoldenCase {
    const GoldenSuite *suite;
    const char *name;                       /* of the vector */
    const void *vector;
    const char *out;
    const char *rival;                      /* its name, NULL for the vector */
    const void *reading;                    /* the rival's */
    const char *rival_out;
} GoldenCase;

/* Adds the tests of a vector, or the one of a rival. @c is copied. */
void golden_add(const GoldenCase *c);

#endif /* TESTS_UNIT_GOLDEN_H */
