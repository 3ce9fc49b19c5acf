/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A program that knows nothing of hints: does the I/O that its arguments say,
 * WORD or WORD:VALUE, and ends with 1 where that fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

/* The same two blocks each time: a program may use them again as they are */
static int aio(int opcode, size_t bytes)
{
    static struct iocb block[2];
    struct iocb *blocks[2] = { &block[0], &block[1] };

    for (int i = 0; i < 2; i++) {
        block[i].aio_lio_opcode = opcode;
        block[i].aio_fildes = fd;
        block[i].aio_nbytes = bytes;
    }
    return io_submit(NULL, 2, blocks) >= 1;
}

/* Blocks in memory that is gone when the call is back, as if freed */
static int aio_gone(size_t bytes)
{
    struct iocb *block = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct iocb *blocks[1] = { block };

    block->aio_lio_opcode = IOCB_CMD_PREAD;
    block->aio_fildes = fd;
    block->aio_nbytes = bytes;
    block->aio_data = 1;
    return io_submit(NULL, 1, blocks) == 1;
}

/* More than the library looks at together, and none after the last */
static int aio_many(size_t count)
{
    struct iocb block = { .aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = fd };
    struct iocb *blocks[1000];

    for (size_t i = 0; i < count; i++) {
        blocks[i] = &block;
    }
    return io_submit(NULL, count, blocks) == (int)count;
}

static void *read_in_thread(void *unused)
{
    return pread(fd, data, 4096, 0) == 4096 ? data : NULL;
}

/* Whoever has the smallest stack that there is */
static int small_stack(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    void *read = NULL;

    return !pthread_attr_init(&attr) &&
           !pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN) &&
           !pthread_create(&thread, &attr, read_in_thread, NULL) &&
           !pthread_join(thread, &read) && read;
}

/* What is wrong with a vector is the kernel's to say */
static int bad_vectors(void)
{
    struct iovec part = { data, 4096 };
    /* volatile: compilers know the call, and what is wrong with it */
    volatile int none = -1, many = 1 << 20;
    /* volatile: the same */
    struct iovec *volatile nowhere = NULL;

    return readv(fd, nowhere, 1) < 0 && errno == EFAULT &&
           readv(fd, &part, none) < 0 && errno == EINVAL &&
           readv(fd, &part, many) < 0 && errno == EINVAL;
}

/* As daemons do before they open their own files */
static int close_all(void)
{
    for (int i = 3; i < 1024; i++) {
        close(i);
    }
    return 1;
}

/* The file by all numbers up to 255 */
static int fill(const char *name)
{
    do {
        fd = open(name, O_RDWR);
    } while (fd >= 0 && fd < 255);
    return fd >= 0;
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
    if (!strcmp(word, "raw-vector")) {
        return syscall(SYS_preadv, fd, &part, 1L, 0L, 0L) == all;
    }
    if (!strcmp(word, "raw-fsync")) {
        return !syscall(SYS_fsync, fd);
    }
    if (!strcmp(word, "raw-close")) {
        return !syscall(SYS_close, fd);
    }
    if (!strcmp(word, "fopen")) {
        fd = fileno(fopen(value, "r+"));
        return fd >= 0;
    }
    if (!strcmp(word, "bad-vectors")) {
        return bad_vectors();
    }
    if (!strcmp(word, "small-stack")) {
        return small_stack();
    }
    if (!strcmp(word, "close-all")) {
        return close_all();
    }
    if (!strcmp(word, "fill")) {
        return fill(value);
    }
    if (!strcmp(word, "daemon")) {
        if (fork()) {
            exit(0);
        }
        /* Whoever was there before has ended */
        return !usleep(200000);
    }
    if (!strcmp(word, "aio-gone")) {
        return aio_gone(bytes);
    }
    if (!strcmp(word, "aio-many")) {
        return aio_many(bytes);
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
