/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * APART: a function for what is rare on a command's way. Inlined, it would cost
 * the usual way the registers and the stack that it needs. So would a trace
 * point's arguments.
 */
#ifndef HW_NVME_COALESCE_APART_H
#define HW_NVME_COALESCE_APART_H

#define APART   __attribute__((noinline))

#endif /* HW_NVME_COALESCE_APART_H */
