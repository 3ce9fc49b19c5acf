/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A controller that this process drives, by the library cintio. */
#ifndef KVSTORE_USER_H
#define KVSTORE_USER_H

#include "engine.h"

/* @address: of its PCI function, which vfio-pci has. */
struct drive *user_open(const char *address, struct drive_options options);

#endif
