/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The forms of input: the timeline format (docs/replay.md) and QEMU's log of
 * pci_nvme_cint_* trace events.
 */
#ifndef REPLAY_FORMATS_H
#define REPLAY_FORMATS_H

#include "event.h"
#include "input.h"

/* The next event; false at the end. */
typedef bool NextEvent(Input *in, Event *event);

NextEvent timeline_next;
NextEvent qemu_trace_next;

#endif /* REPLAY_FORMATS_H */
