/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The guest's memory, as the VMM shares it.
 */
#ifndef VHOST_BLK_MEMORY_H
#define VHOST_BLK_MEMORY_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#define MOST_REGIONS    64

/* As SET_MEM_TABLE has it. */
typedef struct RegionMessage {
    uint64_t guest;             /* physical address */
    uint64_t bytes;
    uint64_t vmm;               /* the same in the VMM's own addresses */
    uint64_t offset;            /* in the file */
} RegionMessage;

typedef struct Region {
    RegionMessage at;
    char *mapping;
    size_t mapped;
} Region;

typedef struct Memory {
    unsigned nr_regions;
    Region region[MOST_REGIONS];
    volatile sig_atomic_t lost; /* a file has become shorter than its region */
} Memory;

/*
 * From now on reading or writing where a region's file has ended sets
 * @memory->lost, and does not end the program. There is one such memory.
 */
void memory_guard(Memory *memory);

/* Maps one more; -errno if that does not work. @fd stays the caller's. */
int memory_add(Memory *memory, const RegionMessage *at, int fd);

/* All of it is gone. */
void memory_clear(Memory *memory);

/* Where @bytes of the guest's are; NULL: they are not all there. */
void *memory_of_guest(const Memory *memory, uint64_t address, uint64_t bytes);

/* The same for an address of the VMM's. */
void *memory_of_vmm(const Memory *memory, uint64_t address, uint64_t bytes);

#endif /* VHOST_BLK_MEMORY_H */
