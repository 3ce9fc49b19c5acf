/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: which addresses of the IOMMU are taken.
 */
#ifndef CINTIO_PLACES_H
#define CINTIO_PLACES_H

#include <stdint.h>

/* Above 4 GiB, and so above the window of interrupt messages. */
#define CINTIO_FIRST_IOVA   (UINT64_C(1) << 32)
#define CINTIO_MAX_MAPS     4096    /* at the same time */

/* By address. All 0: nothing is taken. */
struct cintio_places {
    struct {
        uint64_t iova, len;
    } at[CINTIO_MAX_MAPS];
    unsigned int nr;
};

/* Takes the first gap of @len bytes, a multiple of NVME_PAGE, or -ENOSPC. */
int cintio_place_find(struct cintio_places *places, uint64_t len,
                      uint64_t *iova);

/* Gives none from @start to @end, inclusive, from now on. */
void cintio_place_keep_clear(struct cintio_places *places, uint64_t start,
                             uint64_t end);

/* @iova: of cintio_place_find(). */
void cintio_place_leave(struct cintio_places *places, uint64_t iova);

#endif
