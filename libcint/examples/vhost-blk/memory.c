/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "memory.h"

static Memory *guarded;

/* Zeroes are as good as what is not there any more. */
static bool replace(Region *region, const char *at)
{
    return at >= region->mapping && at < region->mapping + region->mapped &&
           mmap(region->mapping, region->mapped, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
                0) != MAP_FAILED;
}

/* What failed is tried again, and ends the program if nothing was replaced. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    unsigned i;

    for (i = 0; i < guarded->nr_regions; i++) {
        if (replace(&guarded->region[i], info->si_addr)) {
            guarded->lost = true;
            return;
        }
    }
    signal(number, SIG_DFL);
}

void memory_guard(Memory *memory)
{
    struct sigaction action = {
        .sa_sigaction = on_bus_error,
        .sa_flags = SA_SIGINFO,
    };

    guarded = memory;
    if (sigaction(SIGBUS, &action, NULL)) {
        err(EXIT_FAILURE, "sigaction");
    }
}

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
    memory->lost = false;
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
