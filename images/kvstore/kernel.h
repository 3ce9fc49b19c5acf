/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file or a disk, whose controller the kernel drives: io_submit. */
#ifndef KVSTORE_KERNEL_H
#define KVSTORE_KERNEL_H

#include "engine.h"

struct drive *kernel_open(const char *path, struct drive_options options,
                          bool create);

#endif
