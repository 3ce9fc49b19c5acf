/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How a program's I/O is marked: the rules, what is known of its open files,
 * the kernel's ways, and the counts.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "preload.h"

#define RULES_FILE "CINT_PRELOAD"
#define USUAL_FILE "/etc/cint-preload.rules"
#define MODULE "/sys/module/cint_hints"

enum {
    /* cint's own, of kernels with its patches */
    RWF_URGENT = 0x4000,
    RWF_BARRIER = 0x8000,
    IOPRIO_WHO_PROCESS = 1,
    /* Class in the upper bits, and the level in the middle */
    IOPRIO_REALTIME = 1 << 13 | 4,
    IOPRIO_IDLE = 3 << 13,
    FILES = 1024,
    /* Where a copy of standard error is asked for, out of programs' way */
    STDERR_COPY = 200,
    TEXT_MAX = 64 << 10,
    EXIT_BAD_RULES = 125,
    /* Of the largest number, and a zero byte */
    DIGITS = 21,
};

/* What is known of an open file; the key is 0 while it is written */
struct file {
    _Atomic uint64_t key;
    _Atomic uint64_t mask;
    atomic_flag busy;
};

/* Shared with children, so that a program has one report */
struct counts {
    pid_t owner;
    _Atomic bool owner_ended;
    _Atomic uint64_t marked[RULES_MAX], not_marked[RULES_MAX];
    _Atomic uint64_t no_rule, uring;
};

static struct rules rules;
static struct file files[FILES];
static _Atomic uint64_t inherited[FILES];
static struct counts *counts;
static _Atomic int how;
static bool may_be_realtime;
static int standard_error = -1;
static struct stat standard_error_was;

/* ---- text of reports, also in a signal handler -------------------------- */

/* All rules' lines, and small enough for the stack of any thread */
struct text {
    size_t n;
    char at[6 << 10];
};

static void put(struct text *text, const char *word)
{
    size_t n = strlen(word);

    if (text->n + n < sizeof(text->at)) {
        memcpy(text->at + text->n, word, n);
        text->n += n;
    }
}

/* Of a number, at the end of DIGITS bytes of room */
static const char *digits_of(uint64_t value, char *room)
{
    char *at = room + DIGITS - 1;

    *at = '\0';
    do {
        *--at = '0' + value % 10;
        value /= 10;
    } while (value);
    return at;
}

static void put_number(struct text *text, uint64_t value)
{
    char room[DIGITS];

    put(text, digits_of(value, room));
}

/*
 * The copy of standard error, unless the program closed all that it had: the
 * number may be a file of its own now.
 */
static int find_standard_error(void)
{
    struct stat now;

    if (standard_error < 0 || fstat(standard_error, &now) ||
        now.st_dev != standard_error_was.st_dev ||
        now.st_ino != standard_error_was.st_ino) {
        return -1;
    }
    return standard_error;
}

/* Written as one, so that several processes' reports stay apart */
static void say(const struct text *text)
{
    struct iovec part = { (void *)text->at, text->n };
    int fd = rules.log[0] ? -1 : find_standard_error();

    /* By calls that are not stood in for */
    if (rules.log[0]) {
        fd = syscall(SYS_openat, AT_FDCWD, rules.log,
                     O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    }
    if (fd >= 0) {
        syscall(SYS_writev, fd, &part, 1);
    }
    if (fd >= 0 && rules.log[0]) {
        syscall(SYS_close, fd);
    }
}

static void report(void)
{
    struct text text = { 0 };

    for (unsigned i = 0; i < rules.count; i++) {
        put(&text, "cint-preload: line ");
        put_number(&text, rules.rule[i].line);
        put(&text, " (");
        put(&text, mark_words[rules.rule[i].mark]);
        put(&text, "): ");
        put_number(&text, counts->marked[i]);
        put(&text, ", not taken ");
        put_number(&text, counts->not_marked[i]);
        put(&text, "\n");
    }
    put(&text, "cint-preload: by no rule: ");
    put_number(&text, counts->no_rule);
    if (counts->uring) {
        put(&text, "; calls of io_uring, which are not marked: ");
        put_number(&text, counts->uring);
    }
    put(&text, "\n");
    say(&text);
}

static void on_signal(int number)
{
    int saved = errno;

    report();
    errno = saved;
}

/* ---- files -------------------------------------------------------------- */

/* Which file this is, never 0: two open files of one number never share it */
static uint64_t key_of(int fd, const struct stat *st)
{
    uint64_t key = st->st_ino * UINT64_C(0x9e3779b97f4a7c15);

    key = (key ^ key >> 29 ^ st->st_dev) * UINT64_C(0xbf58476d1ce4e5b9);
    return (key ^ (unsigned)fd) | UINT64_C(1) << 63;
}

static unsigned origin_of(int fd, const struct stat *st, uint64_t key,
                          int flags)
{
    unsigned origin = S_ISBLK(st->st_mode) ? FD_DISK : FD_FILE;

    origin |= inherited[fd % FILES] == key ? FD_INHERITED : FD_OPENED;
    origin |= flags & O_DIRECT ? FD_DIRECT : FD_BUFFERED;
    return origin | (flags & (O_DSYNC | O_SYNC) ? FD_SYNC : 0);
}

/* The rules that it comes under, as the system says now */
static uint64_t ask(int fd, const struct stat *st, uint64_t key, int flags)
{
    static const char directory[] = "/proc/self/fd/";
    char link[sizeof(directory) + DIGITS], path[PATH_MAX];
    ssize_t n;

    strcpy(link, directory);
    strcat(link, digits_of(fd, (char[DIGITS]) { 0 }));
    n = readlink(link, path, sizeof(path) - 1);
    path[n < 0 ? 0 : n] = '\0';
    return rules_of_file(&rules, path, origin_of(fd, st, key, flags));
}

static uint64_t rules_of_fd(int fd)
{
    struct file *file = &files[fd % FILES];
    struct stat st;
    uint64_t which, key, mask;
    int flags = 0;

    if (fstat(fd, &st) || !(S_ISREG(st.st_mode) || S_ISBLK(st.st_mode))) {
        return 0;
    }
    which = key_of(fd, &st);
    /* The same file may be open in another way since, by calls not seen here */
    if (rules.by_flags) {
        flags = fcntl(fd, F_GETFL) & (O_DIRECT | O_DSYNC | O_SYNC);
    }
    key = which ^ (uint64_t)flags << 32;
    if (file->key == key) {
        mask = file->mask;
        /* Unless another file took its place meanwhile */
        if (file->key == key) {
            return mask;
        }
    }
    mask = ask(fd, &st, which, flags);
    /* Whoever comes second does without: its file may be another one */
    if (!atomic_flag_test_and_set(&file->busy)) {
        file->key = 0;
        file->mask = mask;
        file->key = key;
        atomic_flag_clear(&file->busy);
    }
    return mask;
}

void preload_look_again(int fd)
{
    if (fd >= 0) {
        files[fd % FILES].key = 0;
    }
}

void preload_forget(int fd)
{
    if (fd >= 0) {
        inherited[fd % FILES] = 0;
    }
    preload_look_again(fd);
}

void preload_forget_all(unsigned first, unsigned last)
{
    /* Numbers beyond share the places of the others, which are asked again */
    for (unsigned fd = 0; fd < FILES; fd++) {
        if (fd >= first && fd <= last) {
            inherited[fd] = 0;
        }
        preload_look_again(fd);
    }
}

static void look_at_inherited(void)
{
    struct stat st;

    for (int fd = 0; fd < FILES; fd++) {
        if (!fstat(fd, &st)) {
            inherited[fd] = key_of(fd, &st);
        }
    }
}

/* ---- marks -------------------------------------------------------------- */

enum how preload_how(void)
{
    return how;
}

bool preload_asks_for_size(void)
{
    return rules.by_size;
}

int preload_flags(enum mark mark)
{
    switch (mark) {
    case MARK_URGENT:
        return RWF_URGENT;
    case MARK_BARRIER:
        return RWF_BARRIER;
    case MARK_UNMARKED:
        return RWF_URGENT | RWF_BARRIER;
    default:
        return 0;
    }
}

int preload_priority(enum mark mark)
{
    if (mark == MARK_URGENT && may_be_realtime) {
        return IOPRIO_REALTIME;
    }
    return mark == MARK_UNMARKED ? IOPRIO_IDLE : -1;
}

static void add(_Atomic uint64_t *count)
{
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

void preload_count(struct choice choice, bool marked)
{
    add(marked ? &counts->marked[choice.rule] :
        &counts->not_marked[choice.rule]);
}

void preload_count_uring(void)
{
    if (counts) {
        add(&counts->uring);
    }
}

struct choice preload_choose(int fd, unsigned call, uint64_t bytes)
{
    struct choice found = { -1, MARK_USUAL };
    char thread[RULES_THREAD + 1] = "";
    int saved = errno;
    uint64_t of_file;

    if (how == HOW_AUTO || fd < 0) {
        return found;
    }
    of_file = rules_of_fd(fd);
    if (of_file && rules.by_thread) {
        prctl(PR_GET_NAME, thread, 0, 0, 0);
    }
    found.rule = rules_find(&rules, of_file, thread, call, bytes);
    if (found.rule >= 0) {
        found.mark = rules.rule[found.rule].mark;
    } else if (of_file) {
        add(&counts->no_rule);
    }
    if (found.rule >= 0 && found.mark == MARK_USUAL) {
        preload_count(found, true);
    }
    errno = saved;
    return found;
}

/* ---- the start ---------------------------------------------------------- */

/* A read of the program's own file tells whether the kernel has the flags */
static bool kernel_has_flags(void)
{
    char byte;
    struct iovec part = { &byte, 1 };
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    bool has = fd >= 0 && preadv2(fd, &part, 1, 0, RWF_URGENT) == 1;

    if (fd >= 0) {
        close(fd);
    }
    return has;
}

static bool try_realtime(void)
{
    int before = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);

    return before >= 0 && !syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
                                   IOPRIO_REALTIME) &&
           !syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, before);
}

static int find_uring(struct dl_phdr_info *info, size_t size, void *found)
{
    if (strstr(info->dlpi_name, "/liburing.so")) {
        *(bool *)found = true;
    }
    return 0;
}

static bool has_mark(enum mark mark)
{
    for (unsigned i = 0; i < rules.count; i++) {
        if (rules.rule[i].mark == mark) {
            return true;
        }
    }
    return false;
}

/* What is not marked, so that nobody waits for it */
static void say_start(enum how way)
{
    struct text text = { 0 };
    bool uring = false;

    dl_iterate_phdr(find_uring, &uring);
    put(&text, "cint-preload: ");
    put_number(&text, rules.count);
    put(&text, way == HOW_FLAGS ? " rules, by RWF flags" :
               " rules, by I/O priorities");
    put(&text, "; not marked: io_uring");
    put(&text, uring ? " (the program has liburing)" : "");
    put(&text, ", mmap, stdio, POSIX aio, sendfile and other copies in the "
               "kernel, system calls the program makes itself, static programs "
               "it starts\n");
    if (way == HOW_FLAGS) {
        put(&text, "cint-preload: no flag marks fsync and fdatasync: they are "
                   "as the kernel has them\n");
    } else if (access(MODULE, F_OK)) {
        put(&text, "cint-preload: " MODULE " is not there: only I/O schedulers "
                   "look at priorities\n");
    }
    if (way == HOW_PRIORITY && has_mark(MARK_BARRIER)) {
        put(&text, "cint-preload: a barrier has no priority: it is as the "
                   "kernel has it\n");
    }
    if (way == HOW_PRIORITY && has_mark(MARK_URGENT) && !may_be_realtime) {
        put(&text, "cint-preload: urgent is the realtime class, which needs "
                   "CAP_SYS_NICE: nothing will be urgent\n");
    }
    say(&text);
}

static void __attribute__((noreturn)) refuse(const char *what, const char *why)
{
    fprintf(stderr, "cint-preload: %s%s%s\n", what, why ? ": " : "",
            why ? why : "");
    _exit(EXIT_BAD_RULES);
}

/*
 * False where there are none to read: a program that changed its root or its
 * user goes on without marks, as do those that it starts.
 */
static bool read_rules(const char *name)
{
    static char text[TEXT_MAX];
    char error[4 * RULES_WORD];
    size_t n = 0;
    ssize_t got;
    int fd = open(name, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        fprintf(stderr, "cint-preload: %s: %s: nothing is marked\n", name,
                strerror(errno));
        return false;
    }
    while ((got = read(fd, text + n, sizeof(text) - n)) > 0) {
        n += got;
    }
    close(fd);
    if (got < 0) {
        refuse(name, strerror(errno));
    }
    if (n == sizeof(text)) {
        refuse(name, "longer than 64 KiB");
    }
    if (!rules_parse(&rules, name, text, n, error, sizeof(error))) {
        refuse(error, NULL);
    }
    return true;
}

/* Programs may close theirs before the report at their end */
static void keep_standard_error(void)
{
    standard_error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_COPY);
    if (standard_error >= 0) {
        fstat(standard_error, &standard_error_was);
    }
}

static void share_counts(void)
{
    counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counts == MAP_FAILED) {
        refuse("no memory for the counts", strerror(errno));
    }
    counts->owner = getpid();
}

static void take_signal(void)
{
    struct sigaction old, own = {
        .sa_handler = on_signal, .sa_flags = SA_RESTART,
    };

    /* A program's own handler comes later, and stays */
    if (!sigaction(SIGUSR1, NULL, &old) && old.sa_handler == SIG_DFL) {
        sigaction(SIGUSR1, &own, NULL);
    }
}

static void __attribute__((constructor)) begin(void)
{
    /* Not of whoever starts a program that has more rights than he */
    const char *name = secure_getenv(RULES_FILE);
    enum how way;

    look_at_inherited();
    if (!read_rules(name ? name : USUAL_FILE)) {
        return;
    }
    share_counts();
    keep_standard_error();
    way = rules.how;
    if (way == HOW_AUTO) {
        way = kernel_has_flags() ? HOW_FLAGS : HOW_PRIORITY;
    }
    may_be_realtime = way == HOW_PRIORITY && try_realtime();
    take_signal();
    say_start(way);
    how = way;
}

static void __attribute__((destructor)) end(void)
{
    if (!counts) {
        return;
    }
    /* A daemon lives on in a child: who ends after the first reports as well */
    if (counts->owner == getpid() || counts->owner_ended) {
        report();
        counts->owner_ended = true;
    }
}
