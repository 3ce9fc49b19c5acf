/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: queue pairs come and go.
 */
#ifndef CINTIO_PAIRS_H
#define CINTIO_PAIRS_H

#include "device.h"

/*
 * Frees the queues that were destroyed and that the controller has let go of
 * since: it has answered, or it was reset. Nobody resets meanwhile, or the
 * caller does; it obeys (cintio_check_answers()), or has stopped.
 */
void cintio_let_go_of_destroyed(struct cintio *dev);

#endif
