/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A program that knows nothing of hints: does the I/O that its arguments say,
 * WORD or WORD:VALUE, and ends with 1 where that fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/aio_abi.h>

int io_submit(void *context, long count, struct iocb **blocks)
    __attribute__((weak));

static char data[1 << 20] __attribute__((aligned(4096)));
static int fd = -1;

static int aio(int opcode, size_t bytes)
{
    struct iocb block = { 0 }, same, *blocks[2] = { &block, &block };

    block.aio_lio_opcode = opcode;
    block.aio_fildes = fd;
    block.aio_nbytes = bytes;
    same = block;
    /* As it was: a program uses its blocks again */
    return io_submit(NULL, 2, blocks) >= 1 &&
           !memcmp(&same, &block, sizeof(block));
}

static int child(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        _exit(pread(fd, data, 4096, 0) != 4096);
    }
    return waitpid(pid, &status, 0) == pid && status == 0;
}

/* Whether it went well; BYTES of a word without a number are 0 */
static int step(const char *word, const char *value, size_t bytes)
{
    struct iovec part = { data, bytes };
    ssize_t all = bytes;

    if (!strcmp(word, "open")) {
        fd = open(value, O_RDWR);
        return fd >= 0;
    }
    if (!strcmp(word, "open-sync")) {
        fd = open(value, O_RDWR | O_SYNC);
        return fd >= 0;
    }
    if (!strcmp(word, "use")) {
        fd = bytes;
        return 1;
    }
    if (!strcmp(word, "close")) {
        return !close(fd);
    }
    if (!strcmp(word, "direct")) {
        return !fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_DIRECT);
    }
    if (!strcmp(word, "thread")) {
        return !prctl(PR_SET_NAME, value, 0, 0, 0);
    }
    if (!strcmp(word, "read")) {
        return lseek(fd, 0, SEEK_SET) == 0 && read(fd, data, bytes) == all;
    }
    if (!strcmp(word, "write")) {
        return lseek(fd, 0, SEEK_SET) == 0 && write(fd, data, bytes) == all;
    }
    if (!strcmp(word, "pread")) {
        return pread(fd, data, bytes, 0) == all;
    }
    if (!strcmp(word, "pwrite")) {
        return pwrite(fd, data, bytes, 0) == all;
    }
    if (!strcmp(word, "preadv")) {
        return preadv(fd, &part, 1, 0) == all;
    }
    if (!strcmp(word, "pwritev")) {
        return pwritev(fd, &part, 1, 0) == all;
    }
    if (!strcmp(word, "negative")) {
        return pread(fd, data, 4096, -1) < 0 && errno == EINVAL;
    }
    if (!strcmp(word, "raw")) {
        return syscall(SYS_pread64, fd, data, bytes, 0L) == all;
    }
    if (!strcmp(word, "ring")) {
        return syscall(SYS_io_uring_enter, 0L, 0L, 0L, 0L, 0L, 0L) == 0;
    }
    if (!strcmp(word, "aio-read")) {
        return aio(IOCB_CMD_PREAD, bytes);
    }
    if (!strcmp(word, "aio-write")) {
        return aio(IOCB_CMD_PWRITE, bytes);
    }
    if (!strcmp(word, "fsync")) {
        return !fsync(fd);
    }
    if (!strcmp(word, "child")) {
        return child();
    }
    if (!strcmp(word, "signal")) {
        return !raise(SIGUSR1);
    }
    return 0;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *value = strchr(argv[i], ':');

        if (value) {
            *value++ = '\0';
        }
        if (!step(argv[i], value, value ? atol(value) : 0)) {
            fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
            return 1;
        }
    }
    return 0;
}
