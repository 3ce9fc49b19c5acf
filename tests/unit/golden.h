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

/*
 * Adds the tests of all @vectors, an array of structures that have a name, the
 * interrupts expected (out), and rivals: an array that ends where a name is
 * NULL, each with its reading and what that would send (out).
 */
#define golden_add_all(suite, vectors)                                        \
    do {                                                                      \
        for (size_t v_ = 0; v_ < G_N_ELEMENTS(vectors); v_++) {               \
            GoldenCase c_ = { suite, vectors[v_].name, &vectors[v_],          \
                              vectors[v_].out, NULL, NULL, NULL };            \
                                                                              \
            golden_add(&c_);                                                  \
            for (size_t r_ = 0; vectors[v_].rivals[r_].name; r_++) {          \
                c_.rival = vectors[v_].rivals[r_].name;                       \
                c_.reading = &vectors[v_].rivals[r_].reading;                 \
                c_.rival_out = vectors[v_].rivals[r_].out;                    \
                golden_add(&c_);                                              \
            }                                                                 \
        }                                                                     \
    } while (0)

/* Adds the tests of a vector, or the one of a rival. @c is copied. */
void golden_add(const GoldenCase *c);

#endif /* TESTS_UNIT_GOLDEN_H */
