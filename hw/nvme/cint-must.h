/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * CINT_MUST(holds): a condition that engine and models rely on, or keep. It is
 * checked, with assert(), where CINT_CHECKED is defined: in unit tests,
 * fuzzers, builds with sanitizers and cint-replay. The device is built without
 * and pays nothing.
 */
#ifndef HW_NVME_CINT_MUST_H
#define HW_NVME_CINT_MUST_H

#ifdef CINT_CHECKED
#undef NDEBUG
#include <assert.h>
#define CINT_MUST(holds)    assert(holds)
#else
#define CINT_MUST(holds)    ((void)sizeof(holds))
#endif

#endif /* HW_NVME_CINT_MUST_H */
