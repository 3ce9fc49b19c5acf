/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vclock: the clock of the first NVMe controller and the instructions that the
 * guest's CPUs have executed until now, as "ns instructions".
 *
 * Both are in the header of the vendor log page D0h. Where QEMU counts
 * instructions, one CPU executes one each ns unless it is halted: the
 * difference between two looks is what it was busy for, to the instruction.
 * Prints nothing where there is no such log page, or nothing is counted.
 */
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define GET_LOG_PAGE    0x02
#define LOG_CINT        0xd0
#define HEADER          64
#define TIME_AT         16
#define INSTRUCTIONS_AT 24

static uint64_t le64_at(const uint8_t *bytes)
{
    uint64_t value = 0;

    for (int i = 7; i >= 0; i--) {
        value = value << 8 | bytes[i];
    }
    return value;
}

int main(void)
{
    uint8_t header[HEADER] = { 0 };
    struct nvme_admin_cmd command = {
        .opcode = GET_LOG_PAGE,
        .nsid = 0xffffffff,
        .addr = (uintptr_t)header,
        .data_len = HEADER,
        .cdw10 = LOG_CINT | (HEADER / 4 - 1) << 16,
    };
    int fd = open("/dev/nvme0", O_RDONLY);

    if (fd < 0 || ioctl(fd, NVME_IOCTL_ADMIN_CMD, &command) ||
        memcmp(header, "CINT", 4) || !le64_at(header + INSTRUCTIONS_AT)) {
        return 0;
    }
    printf("%llu %llu\n", (unsigned long long)le64_at(header + TIME_AT),
           (unsigned long long)le64_at(header + INSTRUCTIONS_AT));
    return 0;
}
