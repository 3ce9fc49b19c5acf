/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Policy "auto": nothing to set, and no hints needed. It is policy cint, with
 * all that a device can know by itself: who waits is inferred from buffers and
 * from what a command is for, delta and thr follow the load, and Barriers are
 * relaxed. What a guest says of a command stands.
 */
#include "policy.h"

const CintPolicyOps cint_policy_auto = {
    .drain = true,
    .tunable = true,
    .infers = true,
    .by_itself = true,
    .any = cint_hinted_any,
    .thr = offsetof(CintConfig, thr),
    .conflict = cint_hinted_conflict,
    .complete = cint_hinted_complete,
    .cancel = cint_hinted_cancel,
    .timer = cint_adaptive_timer,
};
