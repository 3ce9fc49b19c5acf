/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How fast the parser, the engine and everything are.
 */
#ifndef REPLAY_BENCH_H
#define REPLAY_BENCH_H

#include "options.h"

/* Measures parser, engine and all together; prints the result. */
void bench(const Setup *setup);

#endif /* REPLAY_BENCH_H */
