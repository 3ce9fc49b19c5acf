/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <sys/mman.h>

#include "memory.h"

int memory_add(Memory *memory, const RegionMessage *at, int fd)
{
    Region *region = &memory->region[memory->nr_regions];
    void *mapping;

    if (memory->nr_regions == MOST_REGIONS || !at->bytes ||
        at->offset > SIZE_MAX - at->bytes ||
        at->guest > UINT64_MAX - at->bytes) {
        return -EINVAL;
    }
    mapping = mmap(NULL, at->offset + at->bytes, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (mapping == MAP_FAILED) {
        return -errno;
    }
    region->at = *at;
    region->mapping = mapping;
    region->mapped = at->offset + at->bytes;
    memory->nr_regions++;
    return 0;
}

void memory_clear(Memory *memory)
{
    while (memory->nr_regions) {
        Region *region = &memory->region[--memory->nr_regions];

        munmap(region->mapping, region->mapped);
    }
}

static void *inside(const Region *region, uint64_t start, uint64_t address,
                    uint64_t bytes)
{
    uint64_t offset = address - start;

    if (address < start || offset >= region->at.bytes ||
        bytes > region->at.bytes - offset) {
        return NULL;
    }
    return region->mapping + region->at.offset + offset;
}

void *memory_of_guest(const Memory *memory, uint64_t address, uint64_t bytes)
{
    void *found = NULL;
    unsigned i;

    for (i = 0; i < memory->nr_regions && !found; i++) {
        found = inside(&memory->region[i], memory->region[i].at.guest,
                       address, bytes);
    }
    return found;
}

void *memory_of_vmm(const Memory *memory, uint64_t address, uint64_t bytes)
{
    void *found = NULL;
    unsigned i;

    for (i = 0; i < memory->nr_regions && !found; i++) {
        found = inside(&memory->region[i], memory->region[i].at.vmm,
                       address, bytes);
    }
    return found;
}
