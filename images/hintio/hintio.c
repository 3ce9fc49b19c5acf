/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of hintio, and what it says. */
#include "hintio.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXIT_USAGE 2
#define SIZE_LIMIT (1u << 30)
#define SMALL_PAGE 4096u
#define HUGE_PAGE (2u << 20)

static const char help[] =
"Usage: hintio [OPTION...] FILE\n"
"Reads or writes FILE with the kernel's completion hints, then says what it did.\n"
"\n"
"  --op=read|write       what to do (read)\n"
"  --api=NAME            read (read and write), pread, preadv2, aio, aio32 (by the\n"
"                        system calls of 32-bit programs), uring, command (NVMe\n"
"                        commands in a ring, of /dev/ngXnY) or mmap (preadv2)\n"
"  --hint=HINT           default: none given, the kernel's own rules decide;\n"
"                        urgent, barrier, or unmarked: not even by those rules\n"
"  --hipri               poll for each (RWF_HIPRI); preadv2\n"
"  --mark=all|first|last the hint goes to all I/Os, or to one of each batch (all)\n"
"  --size=BYTES          of one I/O; k, m and g are understood (4k)\n"
"  --count=N             I/Os altogether, 0 to do nothing but --sync (1)\n"
"  --repeat=N            how often to do that, and --sync; where no batches are (1)\n"
"  --offset=BYTES        of the first (0)\n"
"  --stride=BYTES        from one to the next (the size)\n"
"  --batch=N             I/Os of one submission; aio, uring, command (1)\n"
"  --link                each waits for the one before it; uring\n"
"  --async               a worker of the kernel issues each (IOSQE_ASYNC); uring\n"
"  --later               submit and wait in two calls, not in one; uring\n"
"  --tail=nop|timeout    end each batch with an entry that is no I/O; uring\n"
"  --sqpoll              a kernel thread submits; uring\n"
"  --iopoll              the caller polls for completions; uring\n"
"  --sqe128              entries of 128 bytes; uring\n"
"  --no-sqarray          entries in the order of the ring; uring\n"
"  --nonblock            open the file with O_NONBLOCK\n"
"  --huge                buffers in huge pages, which must have been reserved\n"
"  --buffered            through the page cache instead of O_DIRECT\n"
"  --create              make the file, or empty it\n"
"  --sync=HOW            fsync, fdatasync, range (sync_file_range with all its flags),\n"
"                        sync, syncfs or msync, after all I/Os (none)\n"
"\n"
"Exit status: 0 done, 1 failed, 2 wrong usage, 77 the kernel has no hints.\n";

static const char *const apis[] = {
    "read", "pread", "preadv2", "aio", "aio32", "uring", "command",
    "mmap", NULL
};
static const char *const hints[] = {
    "default", "urgent", "barrier", "unmarked", NULL
};
static const char *const marks[] = { "all", "first", "last", NULL };
static const char *const tails[] = { "none", "nop", "timeout", NULL };
static const char *const syncs[] = {
    "none", "fsync", "fdatasync", "range", "sync", "syncfs", "msync", NULL
};
static const int hint_flags[] = {
    0, RWF_URGENT, RWF_BARRIER, RWF_URGENT | RWF_BARRIER
};

enum {
    OPT_OP = 1, OPT_API, OPT_HINT, OPT_MARK, OPT_SIZE, OPT_COUNT, OPT_REPEAT,
    OPT_OFFSET, OPT_STRIDE, OPT_BATCH, OPT_LINK, OPT_ASYNC, OPT_LATER, OPT_TAIL,
    OPT_SQPOLL, OPT_IOPOLL, OPT_SQE128, OPT_NO_SQARRAY, OPT_NONBLOCK, OPT_HUGE,
    OPT_BUFFERED, OPT_CREATE, OPT_HIPRI, OPT_SYNC, OPT_HELP,
};

static const struct option options[] = {
    { "op", required_argument, NULL, OPT_OP },
    { "api", required_argument, NULL, OPT_API },
    { "hint", required_argument, NULL, OPT_HINT },
    { "mark", required_argument, NULL, OPT_MARK },
    { "size", required_argument, NULL, OPT_SIZE },
    { "count", required_argument, NULL, OPT_COUNT },
    { "repeat", required_argument, NULL, OPT_REPEAT },
    { "offset", required_argument, NULL, OPT_OFFSET },
    { "stride", required_argument, NULL, OPT_STRIDE },
    { "batch", required_argument, NULL, OPT_BATCH },
    { "link", no_argument, NULL, OPT_LINK },
    { "async", no_argument, NULL, OPT_ASYNC },
    { "later", no_argument, NULL, OPT_LATER },
    { "tail", required_argument, NULL, OPT_TAIL },
    { "sqpoll", no_argument, NULL, OPT_SQPOLL },
    { "iopoll", no_argument, NULL, OPT_IOPOLL },
    { "sqe128", no_argument, NULL, OPT_SQE128 },
    { "no-sqarray", no_argument, NULL, OPT_NO_SQARRAY },
    { "nonblock", no_argument, NULL, OPT_NONBLOCK },
    { "huge", no_argument, NULL, OPT_HUGE },
    { "buffered", no_argument, NULL, OPT_BUFFERED },
    { "create", no_argument, NULL, OPT_CREATE },
    { "hipri", no_argument, NULL, OPT_HIPRI },
    { "sync", required_argument, NULL, OPT_SYNC },
    { "help", no_argument, NULL, OPT_HELP },
    { NULL, 0, NULL, 0 },
};

static _Noreturn void __attribute__((format(printf, 1, 2)))
usage(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fputs("hintio: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    exit(EXIT_USAGE);
}

static int choice(const char *option, const char *text,
                  const char *const *names)
{
    char valid[128] = "";

    for (int i = 0; names[i]; i++) {
        if (!strcmp(text, names[i])) {
            return i;
        }
        strcat(strcat(valid, i ? ", " : ""), names[i]);
    }
    usage("--%s=%s: valid: %s", option, text, valid);
}

static uint64_t number(const char *option, const char *text, uint64_t low,
                       uint64_t high)
{
    static const char units[] = "kmg";
    unsigned long long value;
    const char *unit;
    char *end;

    errno = 0;
    value = strtoull(text, &end, 0);
    unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        int shift = 10 * (unit - units + 1);

        if (value > UINT64_MAX >> shift) {
            errno = ERANGE;
        }
        value <<= shift;
        end++;
    }
    if (errno || *end || end == text || *text == '-' || value < low ||
        value > high) {
        usage("--%s=%s: valid: %" PRIu64 " to %" PRIu64, option, text, low,
              high);
    }
    return value;
}

/* Options without a value. */
static void parse_flag(struct work *w, int option)
{
    bool *const flags[OPT_HELP] = {
        [OPT_LINK] = &w->link,
        [OPT_ASYNC] = &w->async,
        [OPT_LATER] = &w->later,
        [OPT_SQPOLL] = &w->sqpoll,
        [OPT_IOPOLL] = &w->iopoll,
        [OPT_SQE128] = &w->sqe128,
        [OPT_NO_SQARRAY] = &w->no_sqarray,
        [OPT_NONBLOCK] = &w->nonblock,
        [OPT_HUGE] = &w->huge,
        [OPT_BUFFERED] = &w->buffered,
        [OPT_CREATE] = &w->create,
        [OPT_HIPRI] = &w->hipri,
    };

    if (option < 1 || option >= OPT_HELP || !flags[option]) {
        /* getopt has said what is wrong */
        exit(EXIT_USAGE);
    }
    *flags[option] = true;
}

static void parse_one(struct work *w, int option)
{
    switch (option) {
    case OPT_OP:
        w->write = choice("op", optarg, work_ops);
        break;
    case OPT_API:
        w->api = choice("api", optarg, apis);
        break;
    case OPT_HINT:
        w->flags = hint_flags[choice("hint", optarg, hints)];
        break;
    case OPT_MARK:
        w->mark = choice("mark", optarg, marks);
        break;
    case OPT_SIZE:
        w->size = number("size", optarg, 1, SIZE_LIMIT);
        break;
    case OPT_COUNT:
        w->count = number("count", optarg, 0, UINT32_MAX);
        break;
    case OPT_REPEAT:
        w->repeat = number("repeat", optarg, 1, UINT32_MAX);
        break;
    case OPT_OFFSET:
        w->offset = number("offset", optarg, 0, INT64_MAX);
        break;
    case OPT_STRIDE:
        w->stride = number("stride", optarg, 1, INT64_MAX);
        break;
    case OPT_BATCH:
        w->batch = number("batch", optarg, 1, BATCH_MAX);
        break;
    case OPT_TAIL:
        w->tail = choice("tail", optarg, tails);
        break;
    case OPT_SYNC:
        w->sync = choice("sync", optarg, syncs);
        break;
    case OPT_HELP:
        fputs(help, stdout);
        exit(EXIT_SUCCESS);
    default:
        parse_flag(w, option);
    }
}

static void check_options(const struct work *w)
{
    bool batches = w->api >= API_AIO && w->api <= API_COMMAND;
    bool of_ring = w->api == API_URING || w->api == API_COMMAND;
    bool of_uring = w->link || w->async || w->later || w->tail || w->sqpoll ||
                    w->iopoll || w->sqe128 || w->no_sqarray;

    if (w->flags && (w->api < API_PREADV2 || w->api == API_MMAP)) {
        usage("--api=%s takes no hint; valid: preadv2, aio, aio32, uring, "
              "command", apis[w->api]);
    }
    if (w->hipri && w->api != API_PREADV2) {
        usage("--hipri is of --api=preadv2; a ring polls with --iopoll");
    }
    if (w->batch > 1 && !batches) {
        usage("--api=%s has no batches; valid: aio, aio32, uring, command",
              apis[w->api]);
    }
    if (w->repeat > 1 && batches) {
        usage("--repeat is not for --api=%s; valid: read, pread, preadv2, mmap",
              apis[w->api]);
    }
    if (of_uring && !of_ring) {
        usage("--link, --async, --later, --tail, --sqpoll, --iopoll, "
              "--sqe128 and --no-sqarray are of --api=uring and command");
    }
    if (w->tail && w->iopoll) {
        usage("--tail: a ring that is polled takes nothing but I/O");
    }
    if (w->api == API_COMMAND && (w->buffered || w->create)) {
        usage("--api=command has no --buffered and no --create");
    }
    if (w->sync == SYNC_MSYNC && w->api != API_MMAP) {
        usage("--sync=msync is of --api=mmap");
    }
    if (w->create && !w->write) {
        usage("--create leaves nothing to read; valid: with --op=write");
    }
    if (w->batch * w->size > SIZE_LIMIT) {
        usage("--batch times --size: at most %u bytes", SIZE_LIMIT);
    }
}

static void parse(struct work *w, int argc, char **argv)
{
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        parse_one(w, option);
    }
    if (optind != argc - 1) {
        usage("give one file; see hintio --help");
    }
    w->file = argv[optind];
    w->stride = w->stride ? w->stride : w->size;
    /* a mapping is the page cache */
    w->buffered |= w->api == API_MMAP;
    check_options(w);
}

static void allocate(struct work *w)
{
    size_t bytes = w->batch * w->size;
    int i, flags = MAP_PRIVATE | MAP_ANONYMOUS;

    if (w->huge) {
        flags |= MAP_HUGETLB;
        bytes = (bytes + HUGE_PAGE - 1) & -(size_t)HUGE_PAGE;
    }
    w->buffer = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (w->buffer == MAP_FAILED) {
        fail(w, w->huge ? "no huge pages; reserve some in "
                          "/proc/sys/vm/nr_hugepages" : "buffers", errno);
    }
    /*
     * Neighbours get their memory one after the other no more than they would
     * in a program that has run for long: a bio then holds few of them.
     */
    for (i = 0; i < 2; i++) {
        for (size_t at = i * SMALL_PAGE; at < bytes; at += 2 * SMALL_PAGE) {
            ((char *)w->buffer)[at] = 'h';
        }
    }
    /* recognizable in a dump, and no page is left unmapped */
    memset(w->buffer, 'h', bytes);
}

/* Beyond the last page of a file, a mapping is no place to read or write. */
static void check_mapping(const struct work *w)
{
    uint64_t need = w->count ? w->offset + (w->count - 1) * w->stride + w->size
                             : 0;
    off_t end;

    if (w->create && ftruncate(w->fd, need)) {
        fail(w, "ftruncate", errno);
    }
    end = lseek(w->fd, 0, SEEK_END);
    if (end < 0 || (uint64_t)end < need) {
        fail(w, "shorter than what --api=mmap is to touch", 0);
    }
}

static void open_file(struct work *w)
{
    bool direct = !w->buffered && w->api != API_COMMAND;
    int flags = O_CLOEXEC | (direct ? O_DIRECT : 0);

    /* a shared mapping to write to must be readable as well */
    flags |= !w->write ? O_RDONLY : w->api == API_MMAP ? O_RDWR : O_WRONLY;
    flags |= w->create ? O_CREAT | O_TRUNC : 0;
    flags |= w->nonblock ? O_NONBLOCK : 0;
    w->fd = open(w->file, flags, 0644);
    if (w->fd < 0) {
        fail(w, "open", errno);
    }
    if (w->api == API_MMAP) {
        check_mapping(w);
    } else if (w->api == API_COMMAND) {
        command_open(w);
    }
}

static const char *hint_name(int flags)
{
    int i = 0;

    while (hint_flags[i] != flags) {
        i++;
    }
    return hints[i];
}

static void run(struct work *w)
{
    for (unsigned long i = 0; i < w->repeat; i++) {
        if (w->api == API_AIO || w->api == API_AIO32) {
            aio_run(w);
        } else if (w->api == API_URING || w->api == API_COMMAND) {
            ring_run(w);
        } else {
            plain_run(w);
        }
        plain_sync(w);
    }
}

int main(int argc, char **argv)
{
    struct work w = {
        .api = API_PREADV2, .size = 4096, .count = 1, .repeat = 1, .batch = 1,
    };
    unsigned long ios;

    parse(&w, argc, argv);
    allocate(&w);
    open_file(&w);
    run(&w);
    ios = w.count * w.repeat;
    printf("op=%s api=%s hint=%s mark=%s ios=%lu batches=%lu bytes=%" PRIu64
           " sync=%s\n", work_ops[w.write], apis[w.api], hint_name(w.flags),
           marks[w.mark], ios, (ios + w.batch - 1) / w.batch,
           (uint64_t)ios * w.size, syncs[w.sync]);
    return EXIT_SUCCESS;
}
