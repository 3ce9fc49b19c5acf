/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The calls of the C library and of libaio that are stood in for.  Each asks
 * for a rule, and makes the call with what that says.  A mark that a file does
 * not take is left out: no call fails for it.
 */
#undef _FILE_OFFSET_BITS        /* both names of a call are defined here */
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>
#include <linux/aio_abi.h>
#include "preload.h"
#include "calls.h"

enum {
    IOPRIO_WHO_PROCESS = 1,
    AIO_AT_ONCE = 256,
};

/* The function that is meant, looked up where it is first called */
#define NEXT(name)                                                      \
    ({                                                                  \
        static __typeof__(&name) next_;                                 \
        if (!next_) {                                                   \
            next_ = (__typeof__(&name))dlsym(RTLD_NEXT, #name);         \
        }                                                               \
        next_;                                                          \
    })

/* The same function by its other names; nobody calls them from here */
#define ALSO(type, other, name, ...) \
    type other(__VA_ARGS__) __attribute__((alias(#name)))

/* ---- calls that their thread waits for ---------------------------------- */

static long set_priority(int priority)
{
    return NEXT(syscall)(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, priority);
}

/* The thread's priority for one call; what to go back to, or -1 */
static int change_priority(int priority)
{
    int before;

    if (priority < 0) {
        return -1;
    }
    before = NEXT(syscall)(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);
    return before < 0 || set_priority(priority) ? -1 : before;
}

static int set_mark(struct choice choice)
{
    int saved = errno;
    int before;

    if (choice.mark == MARK_USUAL || preload_how() != HOW_PRIORITY) {
        return -1;
    }
    before = change_priority(preload_priority(choice.mark));
    preload_count(choice, before >= 0);
    errno = saved;
    return before;
}

static void end_mark(int before)
{
    int saved = errno;

    if (before >= 0) {
        set_priority(before);
        errno = saved;
    }
}

typedef ssize_t vector2(int, const struct iovec *, int, off_t, int);

/* Whether the kernel will look at it: what is wrong is its to say */
static bool is_vector(const struct iovec *parts, long count)
{
    return parts && count > 0 && count <= IOV_MAX;
}

/* Read only where a rule asks, as it may be a bad address */
static uint64_t bytes_of(const struct iovec *parts, long count)
{
    uint64_t bytes = 0;

    if (!preload_asks_for_size() || !is_vector(parts, count)) {
        return 0;
    }
    for (long i = 0; i < count; i++) {
        bytes += parts[i].iov_len;
    }
    return bytes;
}

/* A mark that is a flag; false where the call is to be made without */
static bool with_flag(struct choice choice, vector2 *next, int fd,
                      const struct iovec *parts, int count, off_t at,
                      int flags, ssize_t *done)
{
    int saved = errno;

    if (choice.mark == MARK_USUAL || preload_how() != HOW_FLAGS) {
        return false;
    }
    *done = next(fd, parts, count, at, flags | preload_flags(choice.mark));
    if (*done < 0 && errno == EOPNOTSUPP) {
        preload_count(choice, false);
        errno = saved;
        return false;
    }
    preload_count(choice, true);
    return true;
}

static struct choice choose(int fd, unsigned call, const struct iovec *parts,
                            int count)
{
    if (!is_vector(parts, count)) {
        return (struct choice) { -1, MARK_USUAL };
    }
    return preload_choose(fd, call, bytes_of(parts, count));
}

/*
 * A call on FD of PARTS: with the flag by preadv2 or pwritev2, else PLAIN under
 * the priority.  AT of -1 is where the file is.
 */
#define MARKED(kind, next2, fd, parts, count, at, flags, plain)         \
    ({                                                                  \
        struct choice choice_ = choose(fd, kind, parts, count);         \
        ssize_t done_;                                                  \
        if (!with_flag(choice_, next2, fd, parts, count, at, flags,     \
                       &done_)) {                                       \
            int before_ = set_mark(choice_);                            \
            done_ = plain;                                              \
            end_mark(before_);                                          \
        }                                                               \
        done_;                                                          \
    })
#define READ(fd, parts, count, at, flags, plain) \
    MARKED(CALL_READ, NEXT(preadv2), fd, parts, count, at, flags, plain)
#define WRITE(fd, parts, count, at, flags, plain) \
    MARKED(CALL_WRITE, NEXT(pwritev2), fd, parts, count, at, flags, plain)

/* A negative place is the caller's mistake, and not "where the file is" */
static bool wrong(off_t at)
{
    if (at < 0) {
        errno = EINVAL;
    }
    return at < 0;
}

ssize_t read(int fd, void *data, size_t size)
{
    struct iovec part = { data, size };

    return READ(fd, &part, 1, -1, 0, NEXT(read)(fd, data, size));
}

ssize_t write(int fd, const void *data, size_t size)
{
    struct iovec part = { (void *)data, size };

    return WRITE(fd, &part, 1, -1, 0, NEXT(write)(fd, data, size));
}

ssize_t pread(int fd, void *data, size_t size, off_t at)
{
    struct iovec part = { data, size };

    return wrong(at) ? -1 :
        READ(fd, &part, 1, at, 0, NEXT(pread)(fd, data, size, at));
}
ALSO(ssize_t, pread64, pread, int fd, void *data, size_t size, off_t at);

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
    struct iovec part = { (void *)data, size };

    return wrong(at) ? -1 :
        WRITE(fd, &part, 1, at, 0, NEXT(pwrite)(fd, data, size, at));
}
ALSO(ssize_t, pwrite64, pwrite, int fd, const void *data, size_t size,
     off_t at);

ssize_t readv(int fd, const struct iovec *parts, int count)
{
    return READ(fd, parts, count, -1, 0, NEXT(readv)(fd, parts, count));
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    return WRITE(fd, parts, count, -1, 0, NEXT(writev)(fd, parts, count));
}

ssize_t preadv(int fd, const struct iovec *parts, int count, off_t at)
{
    return wrong(at) ? -1 :
        READ(fd, parts, count, at, 0, NEXT(preadv)(fd, parts, count, at));
}
ALSO(ssize_t, preadv64, preadv, int fd, const struct iovec *parts, int count,
     off_t at);

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
    return wrong(at) ? -1 :
        WRITE(fd, parts, count, at, 0, NEXT(pwritev)(fd, parts, count, at));
}
ALSO(ssize_t, pwritev64, pwritev, int fd, const struct iovec *parts, int count,
     off_t at);

ssize_t preadv2(int fd, const struct iovec *parts, int count, off_t at,
                int flags)
{
    return READ(fd, parts, count, at, flags,
                NEXT(preadv2)(fd, parts, count, at, flags));
}
ALSO(ssize_t, preadv64v2, preadv2, int fd, const struct iovec *parts,
     int count, off_t at, int flags);

ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t at,
                 int flags)
{
    return WRITE(fd, parts, count, at, flags,
                 NEXT(pwritev2)(fd, parts, count, at, flags));
}
ALSO(ssize_t, pwritev64v2, pwritev2, int fd, const struct iovec *parts,
     int count, off_t at, int flags);

/* As programs are built that check their buffers' room: it ends them */
ssize_t __read_chk(int fd, void *data, size_t size, size_t room)
{
    return size > room ? NEXT(__read_chk)(fd, data, size, room)
                       : read(fd, data, size);
}

ssize_t __pread_chk(int fd, void *data, size_t size, off_t at, size_t room)
{
    return size > room ? NEXT(__pread_chk)(fd, data, size, at, room)
                       : pread(fd, data, size, at);
}
ALSO(ssize_t, __pread64_chk, __pread_chk, int fd, void *data, size_t size,
     off_t at, size_t room);

/* No flag marks these: they come under priorities alone */
#define SYNC(fd, plain)                                                 \
    ({                                                                  \
        struct choice choice_ = preload_choose(fd, CALL_SYNC, 0);       \
        int before_ = set_mark(choice_);                                \
        int done_ = plain;                                              \
        end_mark(before_);                                              \
        if (choice_.mark != MARK_USUAL && preload_how() == HOW_FLAGS) { \
            preload_count(choice_, false);                              \
        }                                                               \
        done_;                                                          \
    })

int fsync(int fd)
{
    return SYNC(fd, NEXT(fsync)(fd));
}

int fdatasync(int fd)
{
    return SYNC(fd, NEXT(fdatasync)(fd));
}

/* ---- aio ---------------------------------------------------------------- */

/* libaio may go by syscall(), which is stood in for as well */
static __thread bool submitting;

static unsigned aio_call(const struct iocb *block)
{
    switch (block->aio_lio_opcode) {
    case IOCB_CMD_PREAD:
    case IOCB_CMD_PREADV:
        return CALL_AIO_READ;
    case IOCB_CMD_PWRITE:
    case IOCB_CMD_PWRITEV:
        return CALL_AIO_WRITE;
    case IOCB_CMD_FSYNC:
    case IOCB_CMD_FDSYNC:
        return CALL_SYNC;
    default:
        return 0;
    }
}

static uint64_t aio_bytes(const struct iocb *block)
{
    switch (block->aio_lio_opcode) {
    case IOCB_CMD_PREADV:
    case IOCB_CMD_PWRITEV:
        return bytes_of((const struct iovec *)(uintptr_t)block->aio_buf,
                        block->aio_nbytes);
    case IOCB_CMD_FSYNC:
    case IOCB_CMD_FDSYNC:
        return 0;
    default:
        return block->aio_nbytes;
    }
}

/* A sync is done by a worker of the kernel, whom no mark reaches */
static struct choice choose_block(const struct iocb *block)
{
    struct choice choice = { -1, MARK_USUAL };
    unsigned call = block ? aio_call(block) : 0;

    if (!call) {
        return choice;
    }
    choice = preload_choose(block->aio_fildes, call, aio_bytes(block));
    if (choice.mark != MARK_USUAL && call == CALL_SYNC) {
        preload_count(choice, false);
        choice.mark = MARK_USUAL;
    }
    return choice;
}

typedef long submit(void *context, long count, struct iocb **blocks);

/*
 * With flags in the blocks.  Those that were taken keep them: another thread
 * may have freed them when this is back.  A rule takes them away or changes
 * them where a program uses its block again.
 *
 * A file without the flags refuses its block.  If that is the first one, it
 * goes without a mark; what is behind it was not looked at.
 */
static long submit_with_flags(submit *next, void *context, long count,
                              struct iocb **blocks,
                              const struct choice *choice)
{
    const __kernel_rwf_t all = preload_flags(MARK_UNMARKED);
    __kernel_rwf_t was[AIO_AT_ONCE];
    long done;

    for (long i = 0; i < count; i++) {
        if (choice[i].rule >= 0) {
            was[i] = blocks[i]->aio_rw_flags;
            blocks[i]->aio_rw_flags &= ~all;
            blocks[i]->aio_rw_flags |= preload_flags(choice[i].mark);
        }
    }
    done = next(context, count, blocks);
    for (long i = done < 0 ? 0 : done; i < count; i++) {
        if (choice[i].rule >= 0) {
            blocks[i]->aio_rw_flags = was[i];
        }
    }
    for (long i = 0; i < done; i++) {
        if (choice[i].mark != MARK_USUAL) {
            preload_count(choice[i], true);
        }
    }
    if (done == -EOPNOTSUPP && choice[0].mark != MARK_USUAL) {
        preload_count(choice[0], false);
        done = next(context, 1, blocks);
    }
    return done;
}

/* Blocks behind each other of one mark, under the thread's priority */
static long submit_run(submit *next, void *context, long count,
                       struct iocb **blocks, const struct choice *choice)
{
    int priority = choice->mark == MARK_USUAL ? -1 :
        preload_priority(choice->mark);
    int before = change_priority(priority);
    long done = next(context, count, blocks);

    end_mark(before);
    for (long i = 0; i < done; i++) {
        if (choice[i].mark != MARK_USUAL) {
            preload_count(choice[i], before >= 0);
        }
    }
    return done;
}

static long submit_with_priorities(submit *next, void *context, long count,
                                   struct iocb **blocks,
                                   const struct choice *choice)
{
    long first = 0;

    while (first < count) {
        long end = first + 1;
        long done;

        while (end < count && choice[end].mark == choice[first].mark) {
            end++;
        }
        done = submit_run(next, context, end - first, blocks + first,
                          choice + first);
        if (done < 0) {
            return first ? first : done;
        }
        first += done;
        if (first < end) {
            break;
        }
    }
    return first;
}

static long submit_some(submit *next, void *context, long count,
                        struct iocb **blocks)
{
    struct choice choice[AIO_AT_ONCE];

    for (long i = 0; i < count; i++) {
        choice[i] = choose_block(blocks[i]);
    }
    return (preload_how() == HOW_FLAGS ? submit_with_flags :
            submit_with_priorities)(next, context, count, blocks, choice);
}

static long submit_all(submit *next, void *context, long count,
                       struct iocb **blocks)
{
    long all = 0;

    if (preload_how() == HOW_AUTO || count <= 0 || !blocks) {
        return next(context, count, blocks);
    }
    while (all < count) {
        long some = count - all < AIO_AT_ONCE ? count - all : AIO_AT_ONCE;
        long done = submit_some(next, context, some, blocks + all);

        if (done < 0) {
            return all ? all : done;
        }
        all += done;
        if (done < some) {
            break;
        }
    }
    return all;
}

static long raw_submit(void *context, long count, struct iocb **blocks)
{
    long done = NEXT(syscall)(SYS_io_submit, context, count, blocks);

    return done < 0 ? -errno : done;
}

/* A library that was opened with its own libaio finds this one, and no next */
static long next_io_submit(void *context, long count, struct iocb **blocks)
{
    long done;

    if (!NEXT(io_submit)) {
        return raw_submit(context, count, blocks);
    }
    submitting = true;
    done = NEXT(io_submit)(context, count, blocks);
    submitting = false;
    return done;
}

/* libaio's, which returns the error, negative */
int io_submit(void *context, long count, struct iocb **blocks)
{
    return submit_all(next_io_submit, context, count, blocks);
}

/* ---- system calls by their numbers, through the C library --------------- */

static long submit_by_number(void *context, long count, struct iocb **blocks)
{
    long done = submit_all(raw_submit, context, count, blocks);

    if (done < 0) {
        errno = -done;
        done = -1;
    }
    return done;
}

long syscall(long number, ...)
{
    va_list args;
    long a[6];

    va_start(args, number);
    for (int i = 0; i < 6; i++) {
        a[i] = va_arg(args, long);
    }
    va_end(args);
    switch (number) {
    case SYS_read:
        return read(a[0], (void *)a[1], a[2]);
    case SYS_write:
        return write(a[0], (const void *)a[1], a[2]);
    case SYS_pread64:
        return pread(a[0], (void *)a[1], a[2], a[3]);
    case SYS_pwrite64:
        return pwrite(a[0], (const void *)a[1], a[2], a[3]);
    case SYS_readv:
        return readv(a[0], (const struct iovec *)a[1], a[2]);
    case SYS_writev:
        return writev(a[0], (const struct iovec *)a[1], a[2]);
    case SYS_preadv:
        return preadv(a[0], (const struct iovec *)a[1], a[2], a[3]);
    case SYS_pwritev:
        return pwritev(a[0], (const struct iovec *)a[1], a[2], a[3]);
    case SYS_preadv2:
        return preadv2(a[0], (const struct iovec *)a[1], a[2], a[3], a[5]);
    case SYS_pwritev2:
        return pwritev2(a[0], (const struct iovec *)a[1], a[2], a[3], a[5]);
    case SYS_fsync:
        return fsync(a[0]);
    case SYS_fdatasync:
        return fdatasync(a[0]);
    case SYS_close:
        return close(a[0]);
    case SYS_close_range:
        return close_range(a[0], a[1], a[2]);
    case SYS_dup2:
        return dup2(a[0], a[1]);
    case SYS_dup3:
        return dup3(a[0], a[1], a[2]);
    case SYS_io_submit:
        if (!submitting) {
            return submit_by_number((void *)a[0], a[1], (struct iocb **)a[2]);
        }
        break;
    case SYS_io_uring_enter:
        preload_count_uring();
        break;
    default:
        break;
    }
    return NEXT(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- what makes a descriptor another file ------------------------------- */

static int forgotten(int fd)
{
    preload_forget(fd);
    return fd;
}

/* The mode is read where there is one, as the C library does */
#define OPEN(name, ...)                                                 \
    ({                                                                  \
        va_list args_;                                                  \
        mode_t mode_;                                                   \
        va_start(args_, flags);                                         \
        mode_ = va_arg(args_, mode_t);                                  \
        va_end(args_);                                                  \
        forgotten(NEXT(name)(__VA_ARGS__, flags, mode_));               \
    })

int open(const char *path, int flags, ...)
{
    return OPEN(open, path);
}

int open64(const char *path, int flags, ...)
{
    return OPEN(open64, path);
}

int openat(int dir, const char *path, int flags, ...)
{
    return OPEN(openat, dir, path);
}

int openat64(int dir, const char *path, int flags, ...)
{
    return OPEN(openat64, dir, path);
}

int __open_2(const char *path, int flags)
{
    return forgotten(NEXT(__open_2)(path, flags));
}

int __open64_2(const char *path, int flags)
{
    return forgotten(NEXT(__open64_2)(path, flags));
}

int __openat_2(int dir, const char *path, int flags)
{
    return forgotten(NEXT(__openat_2)(dir, path, flags));
}

int __openat64_2(int dir, const char *path, int flags)
{
    return forgotten(NEXT(__openat64_2)(dir, path, flags));
}

int close(int fd)
{
    return NEXT(close)(forgotten(fd));
}

int close_range(unsigned first, unsigned last, int flags)
{
    preload_forget_all(first, last);
    return NEXT(close_range)(first, last, flags);
}

/* The C library's own closing is not seen */
void closefrom(int first)
{
    preload_forget_all(first < 0 ? 0 : first, UINT_MAX);
    NEXT(closefrom)(first);
}

int fclose(FILE *file)
{
    preload_forget(file ? fileno_unlocked(file) : -1);
    return NEXT(fclose)(file);
}

int dup2(int fd, int to)
{
    return NEXT(dup2)(fd, forgotten(to));
}

int dup3(int fd, int to, int flags)
{
    return NEXT(dup3)(fd, forgotten(to), flags);
}

static int control(int fd, int command, void *value)
{
    int done = NEXT(fcntl)(fd, command, value);

    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
        preload_forget(done);
    } else if (command == F_SETFL) {
        preload_look_again(fd);
    }
    return done;
}

#define CONTROL(fd, command)                                            \
    ({                                                                  \
        va_list args_;                                                  \
        void *value_;                                                   \
        va_start(args_, command);                                       \
        value_ = va_arg(args_, void *);                                 \
        va_end(args_);                                                  \
        control(fd, command, value_);                                   \
    })

int fcntl(int fd, int command, ...)
{
    return CONTROL(fd, command);
}

int fcntl64(int fd, int command, ...)
{
    return CONTROL(fd, command);
}
