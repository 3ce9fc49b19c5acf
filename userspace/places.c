/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: which addresses of the IOMMU are taken. What is to be kept clear may
 * overlap, as a bridge's window and the BARs in it; what is given out overlaps
 * nothing.
 */
#include <errno.h>
#include <string.h>

#include "nvme.h"
#include "places.h"

static uint64_t page_up(uint64_t address)
{
    return (address + NVME_PAGE - 1) / NVME_PAGE * NVME_PAGE;
}

/* At @i, where the order is kept. */
static void insert(struct cintio_places *places, unsigned int i, uint64_t iova,
                   uint64_t len)
{
    memmove(&places->at[i + 1], &places->at[i],
            (places->nr - i) * sizeof(places->at[0]));
    places->at[i].iova = iova;
    places->at[i].len = len;
    places->nr++;
}

int cintio_place_find(struct cintio_places *places, uint64_t len,
                      uint64_t *iova)
{
    uint64_t at = CINTIO_FIRST_IOVA, end;
    unsigned int i;

    if (places->nr == CINTIO_MAX_MAPS) {
        return -ENOSPC;
    }
    for (i = 0; i < places->nr; i++) {
        if (places->at[i].iova > at && places->at[i].iova - at >= len) {
            break;
        }
        end = page_up(places->at[i].iova + places->at[i].len);
        at = end > at ? end : at;
    }
    insert(places, i, at, len);
    *iova = at;
    return 0;
}

void cintio_place_keep_clear(struct cintio_places *places, uint64_t start,
                             uint64_t end)
{
    unsigned int i = places->nr;

    if (end < CINTIO_FIRST_IOVA || places->nr == CINTIO_MAX_MAPS / 2) {
        return;
    }
    while (i && places->at[i - 1].iova > start) {
        i--;
    }
    insert(places, i, start, end - start + 1);
}

void cintio_place_leave(struct cintio_places *places, uint64_t iova)
{
    unsigned int i = 0;

    while (places->at[i].iova != iova) {
        i++;
    }
    places->nr--;
    memmove(&places->at[i], &places->at[i + 1],
            (places->nr - i) * sizeof(places->at[0]));
}
