/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The user-space library with the fake controller, to be loaded before the
 * installed one: programs that were built outside of the tree open it, and run.
 */
#undef cintio_open
#undef cintio_close
#include "cintio.h"
#include "example-device.h"
#undef cintio_open
#undef cintio_close

int cintio_open(const char *address, const struct cintio_options *options,
                struct cintio **dev, struct cintio_error *err)
{
    return example_open(address, options, dev, err);
}

void cintio_close(struct cintio *dev)
{
    example_close(dev);
}
