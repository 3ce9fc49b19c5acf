/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What every fuzz target defines. With clang libFuzzer calls it, else
 * driver.c does.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Tries one input. Returns 0; a mistake that it finds ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the target did with all inputs so far, in units of its own. */
extern uint64_t fuzz_events;

#endif /* TESTS_FUZZ_FUZZ_H */
