/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the policy language knows beside the engine's own lists: further names
 * and words, and what is meant where nothing is typed. A line each:
 *
 *   ALIAS(name, policy, parameter, value)
 *                                    a policy's name that sets a parameter
 *   SHORT_WORD(policy, word, parameter)
 *                                    another word for it under one policy
 *   MEANT(parameter, value)          under each policy that reads it, but for
 *                                    "default", which is without coalescing
 *   MEANT_OFF(parameter)             under all; not with --extras on and off
 *   NUMBERED(policy, parameter, unit)
 *                                    the policy's name and a number after it
 *   TOGETHER(word, parameter, word, parameter)
 *                                    under who reads them both are more than
 *                                    0, or neither; the words are for messages
 *   BESIDE(parameter, value, listed) goes on beside each policy, also beside
 *                                    those that policy-list.h has it for: the
 *                                    value with --extras papers. Who lists it
 *                                    has instead its own default (KEEPS), or
 *                                    everything as with --extras device (ALL)
 *
 * Who includes it says which kinds are wanted. cint-replay compiles it; the
 * tool reads it as text (tools/cint/device/words.py).
 */
#ifndef ALIAS
#define ALIAS(name, policy, param, value)
#endif
#ifndef SHORT_WORD
#define SHORT_WORD(policy, word, param)
#endif
#ifndef MEANT
#define MEANT(param, value)
#endif
#ifndef MEANT_OFF
#define MEANT_OFF(param)
#endif
#ifndef NUMBERED
#define NUMBERED(policy, param, unit)
#endif
#ifndef TOGETHER
#define TOGETHER(word, param, other_word, other)
#endif
#ifndef BESIDE
#define BESIDE(param, value, listed)
#endif

ALIAS("cint+ooo", "cint", "ooo", 1)

SHORT_WORD("static", "time", "static-time")
SHORT_WORD("static", "thr", "static-thr")
SHORT_WORD("vic", "scope", "vic-scope")
SHORT_WORD("vic", "ratios", "vic-ratios")

MEANT("static-time", 100000)
MEANT("static-thr", 32)
/* Off unless asked for, which "cint+ooo" does: the rows tell what it adds. */
MEANT_OFF("ooo")

NUMBERED("static", "static-time", "us")

TOGETHER("time", "static-time", "thr", "static-thr")

BESIDE("drain", 2, ALL)
BESIDE("max-hold", 0, KEEPS)

#undef ALIAS
#undef SHORT_WORD
#undef MEANT
#undef MEANT_OFF
#undef NUMBERED
#undef TOGETHER
#undef BESIDE
