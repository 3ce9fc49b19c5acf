/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The example in cintio.h as it stands there, with the fake controller.
 */
#include <stdio.h>
#include <stdlib.h>

#include <cintio.h>

int main(void)
{
#include "header-example.inc.h"

    printf("%d taken, status %x\n", n, done[0].status);
    cintio_queue_destroy(q);
    cintio_free(dev, io.mem);
    cintio_close(dev);
    return n != 1 || done[0].status;
}
