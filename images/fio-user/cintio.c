/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fio engine cintio: I/O through the user-space driver (userspace/), with no
 * kernel in between.
 *
 *   ioengine=cintio
 *   thread=1                 all jobs are threads: one process has a controller
 *   filename=0000.00.03.0    its PCI address, with dots for fio's sake
 *   interrupt_mode=auto|poll|sleep|adaptive|interrupt|coalesced
 *                            auto: coalesced where the queue's policy knows the
 *                            interrupt pointer, else interrupt
 *   complete_min=N           wait for at least so many completions at once
 *                            (fio's own option is iodepth_batch_complete_min)
 *   sleep_ns=N               of mode sleep
 *   spin_ns=N                look for so long before sleeping until an interrupt
 *   gather_ns=N              coalesced: sleep on for, where more come by then
 *   hint=unmarked|urgent|barrier    barrier: the last of each submission
 *   policy=NAME              of the job's queue, else the controller's own
 *   records=1                have the controller keep interrupt status records
 *   slice_ns=N               ask the scheduler for this time slice
 *   irq_cost_ns=N            spend so much more CPU time on each interrupt
 *   counts=1                 tell what the I/O queues counted, see below
 *
 * Each job has a queue pair. The controller is opened by the first job, whose
 * records and counts hold for all, and closed by the last. What counts=1 has it
 * print on standard output:
 *
 *   cint-clock start|end NS INSTRUCTIONS   at the edges of each job's I/O, by
 *                                          the controller's clocks
 *   cint-user INTERRUPTS COST LOG-PAGE     at the end: the guest's own count;
 *                                          irq_cost_ns of the first job; page
 *                                          D0h in base64
 */
#include "fio.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "optgroup.h"

#include <cintio.h>

#define MAX_JOBS    64
#define DRAIN_NS    UINT64_C(10000000000)   /* for what ends at all */
#define MODE_AUTO   (CINTIO_COALESCED + 1)

/*
 * A completion queue that is three quarters full interrupts for that reason
 * (pressure), whatever the pointer says. In one with just as many entries as
 * the job has I/Os, a process that is late would often be woken by it.
 */
#define LEAST_ENTRIES 256

enum { UNMARKED, URGENT, BARRIER };

struct user_options {
    void *pad;              /* fio keeps a pointer of its own in here */
    unsigned int mode, complete_min, hint, policy;
    unsigned int records, counts;
    unsigned long long sleep_ns, spin_ns, gather_ns, slice_ns, irq_cost_ns;
};

/* A job: its queue pair, and what fio has queued and not committed. */
struct user {
    struct cintio_queue *q;
    struct cintio_mem *mem;
    struct io_u **waiting;
    unsigned int queued;
    bool started;
    struct cintio_done *done;
    uint64_t irq_cost_ns;
};

/* The controller of all jobs. */
static struct {
    pthread_mutex_t lock;
    struct cintio *dev;
    char address[16];
    bool counts;
    unsigned long long irq_cost_ns;
    unsigned int users;     /* jobs that were set up and not cleaned up */
    unsigned int nr_ended;
    struct cintio_queue *ended[MAX_JOBS];   /* with counts, for them */
} the = { .lock = PTHREAD_MUTEX_INITIALIZER };

#define CHOICE(word, value, text) { .ival = word, .oval = value, .help = text }
#define OPTION(word, field, kind, standard, text) \
    .name = word, .lname = text, .help = text, .type = kind, \
    .off1 = offsetof(struct user_options, field), .def = standard, \
    .category = FIO_OPT_C_ENGINE, .group = FIO_OPT_G_INVALID

static struct fio_option user_options[] = {
    {
        OPTION("interrupt_mode", mode, FIO_OPT_STR, "auto",
               "How completions are waited for"),
        .posval = {
            CHOICE("auto", MODE_AUTO,
                   "Coalesced if the queue can, else interrupt"),
            CHOICE("poll", CINTIO_POLL, "Look until they are there"),
            CHOICE("sleep", CINTIO_SLEEP, "Sleep for sleep_ns, then poll"),
            CHOICE("adaptive", CINTIO_SLEEP_ADAPTIVE,
                   "Sleep for half of the mean time, then poll"),
            CHOICE("interrupt", CINTIO_INTERRUPT, "Sleep until an interrupt"),
            CHOICE("coalesced", CINTIO_COALESCED,
                   "Sleep until the interrupt pointer is passed"),
        },
    },
    {
        OPTION("complete_min", complete_min, FIO_OPT_INT, "0",
               "Completions to wait for at once, 0: as fio says"),
        .maxval = 65534,
    },
    {
        OPTION("sleep_ns", sleep_ns, FIO_OPT_ULL, "0",
               "Nanoseconds since submission to sleep for"),
    },
    {
        OPTION("spin_ns", spin_ns, FIO_OPT_ULL, "0",
               "Nanoseconds to look for completions before sleeping")
    },
    {
        OPTION("gather_ns", gather_ns, FIO_OPT_ULL, "0",
               "Nanoseconds to sleep on for, where more come by then")
    },
    {
        OPTION("hint", hint, FIO_OPT_STR, "unmarked",
               "Which I/Os somebody waits for"),
        .posval = {
            CHOICE("unmarked", UNMARKED, "None of them"),
            CHOICE("urgent", URGENT, "Each I/O"),
            CHOICE("barrier", BARRIER, "The last I/O of each batch"),
        },
    },
    {
        OPTION("policy", policy, FIO_OPT_STR, "own",
               "The controller's policy for the job's completion queue"),
        .posval = {
            CHOICE("own", CINTIO_POLICY_OWN, "As the controller has it"),
            CHOICE("default", CINTIO_POLICY_DEFAULT,
                   "An interrupt for each completion"),
            CHOICE("static", CINTIO_POLICY_STATIC, "NVMe's own"),
            CHOICE("adaptive", CINTIO_POLICY_ADAPTIVE, "Bursts"),
            CHOICE("vic", CINTIO_POLICY_VIC, "A ratio"),
            CHOICE("cint", CINTIO_POLICY_CINT, "Hints"),
            CHOICE("pointer", CINTIO_POLICY_POINTER,
                   "The interrupt pointer"),
        },
    },
    {
        OPTION("records", records, FIO_OPT_BOOL, "0",
               "Have the controller keep interrupt status records"),
    },
    {
        OPTION("slice_ns", slice_ns, FIO_OPT_ULL, "0",
               "Time slice to ask the scheduler for"),
    },
    {
        OPTION("irq_cost_ns", irq_cost_ns, FIO_OPT_ULL, "0",
               "Further CPU time to spend on each interrupt"),
    },
    {
        OPTION("counts", counts, FIO_OPT_BOOL, "0",
               "Print interrupts and the controller's log page at the end"),
    },
    { .name = NULL },
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

static int say(struct cintio_error *err, int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(err->text, sizeof(err->text), fmt, ap);
    va_end(ap);
    return code;
}

static int fail(struct thread_data *td, int error, const char *text)
{
    log_err("fio: %s: %s\n", td->o.name ? td->o.name : "cintio", text);
    td_verror(td, -error, "cintio");
    return 1;
}

/* --- counts ------------------------------------------------------------- */

/* Of the I/O queues' vectors, whose lines name the function. */
static unsigned long long interrupts(void)
{
    char line[4096], wanted[40];
    unsigned long long sum = 0;
    FILE *file = fopen("/proc/interrupts", "r");

    snprintf(wanted, sizeof(wanted), "](%s)", the.address);
    while (file && fgets(line, sizeof(line), file)) {
        char *at = strchr(line, ':'), *end;

        if (!at || !strstr(line, wanted) || strstr(line, "vfio-msix[0]")) {
            continue;
        }
        for (at++; ; at = end) {
            unsigned long long count = strtoull(at, &end, 10);

            if (end == at || *end != ' ') {
                break;
            }
            sum += count;
        }
    }
    if (file) {
        fclose(file);
    }
    return sum;
}

static void print_base64(const uint8_t *at, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t bits = at[i] << 16 | (left > 1 ? at[i + 1] << 8 : 0) |
                        (left > 2 ? at[i + 2] : 0);

        putchar(digits[bits >> 18]);
        putchar(digits[bits >> 12 & 63]);
        putchar(left > 1 ? digits[bits >> 6 & 63] : '=');
        putchar(left > 2 ? digits[bits & 63] : '=');
    }
}

/* Of a controller with cint, whose log page begins with them. */
static void print_clock(const char *edge)
{
    struct cintio_error err;
    void *page;
    size_t len;

    if (!the.counts || cintio_log(the.dev, &page, &len, &err)) {
        return;
    }
    printf("cint-clock %s %llu %llu\n", edge,
           (unsigned long long)((NvmeCintLogHeader *)page)->time_ns,
           (unsigned long long)((NvmeCintLogHeader *)page)->instructions);
    fflush(stdout);
    free(page);
}

static void print_counts(void)
{
    unsigned long long count = interrupts();
    struct cintio_error err;
    void *page = NULL;
    size_t len = 0;

    if (cintio_log(the.dev, &page, &len, &err)) {
        len = 0;    /* a controller without cint has none */
    }
    printf("cint-user %llu %llu ", count, the.irq_cost_ns);
    print_base64(page, len);
    printf("\n");
    fflush(stdout);
    free(page);
}

/* --- the controller ----------------------------------------------------- */

/* "0000.00.03.0" is 0000:00:03.0, and so is that, where fio lets it through. */
static void read_address(const char *filename, char address[16])
{
    snprintf(address, 16, "%s", filename);
    for (unsigned int i = 0, n = 0; address[i] && n < 2; i++) {
        if (address[i] == '.' || address[i] == ':') {
            address[i] = ':';
            n++;
        }
    }
}

static int open_controller(struct thread_data *td, const char *filename)
{
    struct cintio_options options = { .queues = MAX_JOBS };
    const struct user_options *o = td->eo;
    struct cintio_error err;
    char address[16];
    int ret;

    read_address(filename, address);
    if (the.dev) {
        return strcmp(address, the.address) ?
            fail(td, -EINVAL, "the jobs of one fio share one controller: give "
                 "all the same filename") : 0;
    }
    strcpy(the.address, address);
    ret = cintio_open(the.address, &options, &the.dev, &err);
    if (!ret && o->records) {
        ret = cintio_records(the.dev, true, &err);
        if (ret) {
            cintio_close(the.dev);
            the.dev = NULL;
        }
    }
    the.counts = o->counts;
    the.irq_cost_ns = o->irq_cost_ns;
    return ret ? fail(td, ret, err.text) : 0;
}

static int user_setup(struct thread_data *td)
{
    struct fio_file *f = td->files[0];
    const struct cintio_info *info;

    if (!td->o.use_thread) {
        return fail(td, -EINVAL, "engine cintio needs thread=1");
    }
    if (td->o.io_submit_mode == IO_MODE_OFFLOAD) {
        return fail(td, -EINVAL, "engine cintio needs io_submit_mode=inline: a "
                    "queue belongs to one thread");
    }
    if (td->o.sync_io) {
        return fail(td, -EINVAL, "engine cintio has no sync=: writes end in "
                    "the controller's cache; fsync=1 flushes it after each");
    }
    if (td->files_index != 1 || strlen(f->file_name) >= sizeof(the.address)) {
        return fail(td, -EINVAL, "engine cintio needs one filename, the PCI "
                    "address with dots: filename=0000.00.03.0");
    }
    if (open_controller(td, f->file_name)) {
        return 1;
    }
    info = cintio_info(the.dev);
    f->filetype = FIO_TYPE_BLOCK;
    f->real_file_size = info->blocks * info->block_size;
    fio_file_set_size_known(f);
    the.users++;
    return 0;
}

/* Of this thread; what else the scheduler knows of it stays. */
static int ask_for_slice(uint64_t ns, struct cintio_error *err)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attributes = { 0 };

    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0)) {
        return say(err, -errno, "sched_getattr: %s", strerror(errno));
    }
    attributes.size = sizeof(attributes);
    attributes.runtime = ns;
    return syscall(SYS_sched_setattr, 0, &attributes, 0) ?
        say(err, -errno, "slice_ns=%llu: %s", (unsigned long long)ns,
            strerror(errno)) : 0;
}

static void spend(uint64_t ns)
{
    uint64_t end = now_ns() + ns;

    while (now_ns() < end) {
        continue;
    }
}

/* What each interrupt costs beyond what this machine's does. */
static void pay(void *opaque, uint64_t n)
{
    const struct user *user = opaque;

    while (n--) {
        spend(user->irq_cost_ns);
    }
}

static int set_mode(struct cintio_queue *q, const struct user_options *o,
                    struct cintio_error *err)
{
    cintio_queue_set_patience(q, o->spin_ns, o->gather_ns);
    if (o->mode != MODE_AUTO) {
        return cintio_queue_set_mode(q, o->mode, o->sleep_ns, err);
    }
    return cintio_queue_set_mode(q, CINTIO_COALESCED, 0, NULL) ?
           cintio_queue_set_mode(q, CINTIO_INTERRUPT, 0, err) : 0;
}

/* One stays free; and no more than the controller has (CAP.MQES). */
static uint16_t entries_for(unsigned int iodepth)
{
    uint16_t most = cintio_info(the.dev)->max_entries;
    unsigned int wanted = iodepth < LEAST_ENTRIES ? LEAST_ENTRIES : iodepth + 1;

    return wanted < most ? wanted : most;
}

static int set_up_queue(struct thread_data *td, struct user *user,
                        struct cintio_error *err)
{
    const struct user_options *o = td->eo;
    uint16_t most = cintio_info(the.dev)->max_entries;
    struct cintio_queue_options how = {
        .entries = entries_for(td->o.iodepth),
        .no_interrupts = o->mode < CINTIO_INTERRUPT,
        .policy = o->policy, .size = sizeof(how),
    };
    int ret;

    if (td->o.iodepth >= most) {
        return say(err, -EINVAL, "iodepth=%u: the controller's queues have %u "
                   "entries, and one stays free", td->o.iodepth, most);
    }
    ret = cintio_queue_create(the.dev, &how, &user->q, err);
    if (!ret) {
        ret = set_mode(user->q, o, err);
    }
    if (!ret && o->slice_ns) {
        ret = ask_for_slice(o->slice_ns, err);
    }
    if (!ret && o->irq_cost_ns) {
        user->irq_cost_ns = o->irq_cost_ns;
        cintio_queue_on_interrupt(user->q, pay, user);
    }
    return ret;
}

/*
 * fio looks at it only where it asks for a file's size by itself; nor does the
 * file of a log that is replayed have the size that user_setup() has set.
 */
static int check_offset(struct thread_data *td, const struct fio_file *f)
{
    const struct cintio_info *info = cintio_info(the.dev);
    unsigned long long size = info->blocks * info->block_size;
    struct cintio_error err;

    if (f->file_offset < size) {
        return 0;
    }
    say(&err, -EINVAL, "offset %llu: the namespace has %llu bytes",
        (unsigned long long)f->file_offset, size);
    return fail(td, -EINVAL, err.text);
}

static int user_init(struct thread_data *td)
{
    struct user *user = calloc(1, sizeof(*user));
    struct cintio_error err;
    int ret;

    td->io_ops_data = user;
    if (!user) {
        return fail(td, -ENOMEM, "out of memory");
    }
    if (check_offset(td, td->files[0])) {
        return 1;
    }
    user->waiting = calloc(td->o.iodepth, sizeof(*user->waiting));
    user->done = calloc(td->o.iodepth, sizeof(*user->done));
    if (!user->waiting || !user->done) {
        return fail(td, -ENOMEM, "out of memory");
    }
    ret = set_up_queue(td, user, &err);
    return ret ? fail(td, ret, err.text) : 0;
}

static void close_controller(void)
{
    if (the.counts) {
        print_counts();
    }
    while (the.nr_ended) {
        cintio_queue_destroy(the.ended[--the.nr_ended]);
    }
    cintio_close(the.dev);
    the.dev = NULL;
}

/* A queue that is counted stays, for the log page has only those there are. */
static void retire(struct cintio_queue *q)
{
    cintio_queue_on_interrupt(q, NULL, NULL);
    if (the.counts) {
        the.ended[the.nr_ended++] = q;
    } else {
        cintio_queue_destroy(q);
    }
}

static void user_cleanup(struct thread_data *td)
{
    struct user *user = td->io_ops_data;

    pthread_mutex_lock(&the.lock);
    if (user && user->started) {
        print_clock("end");
    }
    if (user && user->q) {
        retire(user->q);
    }
    if (the.users && !--the.users) {
        close_controller();
    }
    pthread_mutex_unlock(&the.lock);
    if (user) {
        free(user->waiting);
        free(user->done);
        free(user);
    }
    td->io_ops_data = NULL;
}

static int user_iomem_alloc(struct thread_data *td, size_t len)
{
    struct user *user = td->io_ops_data;
    struct cintio_error err;
    int ret = cintio_alloc(the.dev, len, &user->mem, &err);

    if (ret) {
        return fail(td, ret, err.text);
    }
    td->orig_buffer = cintio_mem_addr(user->mem);
    return 0;
}

/*
 * After an error fio leaves commands behind, which the controller may yet carry
 * out. The memory of those that do not end is the controller's for good.
 */
static bool drain(struct user *user, unsigned int iodepth)
{
    uint64_t end = now_ns() + DRAIN_NS;

    while (user->q && cintio_outstanding(user->q)) {
        if (cintio_complete(user->q, user->done, 1, iodepth, DRAIN_NS) < 0 ||
            now_ns() > end) {
            return false;
        }
    }
    return true;
}

static void user_iomem_free(struct thread_data *td)
{
    struct user *user = td->io_ops_data;

    if (drain(user, td->o.iodepth)) {
        cintio_free(the.dev, user->mem);
    }
    user->mem = NULL;
}

/* --- I/O ---------------------------------------------------------------- */

static enum fio_q_status refuse(struct thread_data *td, struct io_u *io_u,
                                int error, const char *text)
{
    io_u->error = error;
    fail(td, -error, text);
    return FIO_Q_COMPLETED;
}

static enum fio_q_status user_queue(struct thread_data *td, struct io_u *io_u)
{
    uint32_t size = cintio_info(the.dev)->block_size;
    struct user *user = td->io_ops_data;

    fio_ro_check(td, io_u);
    if (io_u->ddir == DDIR_TRIM) {
        return refuse(td, io_u, EOPNOTSUPP, "engine cintio does not trim");
    }
    if (ddir_rw(io_u->ddir) && (io_u->offset | io_u->xfer_buflen) % size) {
        return refuse(td, io_u, EINVAL,
                      "an I/O that is not of whole blocks: set bs");
    }
    if (user->queued == td->o.iodepth) {
        return FIO_Q_BUSY;
    }
    user->waiting[user->queued++] = io_u;
    return FIO_Q_QUEUED;
}

static unsigned int hints(struct thread_data *td, bool last)
{
    const struct user_options *o = td->eo;

    return o->hint == URGENT ? CINTIO_URGENT :
           o->hint == BARRIER && last ? CINTIO_BARRIER : 0;
}

static int push(struct thread_data *td, struct io_u *io_u, bool last)
{
    struct user *user = td->io_ops_data;
    uint32_t size = cintio_info(the.dev)->block_size;
    struct cintio_io io = {
        .op = io_u->ddir == DDIR_READ ? CINTIO_READ :
              io_u->ddir == DDIR_WRITE ? CINTIO_WRITE : CINTIO_FLUSH,
        .hints = hints(td, last),
        .lba = io_u->offset / size, .blocks = io_u->xfer_buflen / size,
        .mem = user->mem, .buf = io_u->xfer_buf,
        .cookie = (uintptr_t)io_u,
    };
    int ret = cintio_push(user->q, &io);

    if (ret) {
        fail(td, ret, cintio_queue_error(user->q));
    }
    return ret;
}

/* All that wait, or those before the first that cannot be: none twice. */
static int push_all(struct thread_data *td)
{
    struct user *user = td->io_ops_data;
    struct timespec now;
    unsigned int n;
    int ret = 0;

    fio_gettime(&now, NULL);
    for (n = 0; n < user->queued; n++) {
        ret = push(td, user->waiting[n], n == user->queued - 1);
        if (ret) {
            break;
        }
        if (fio_fill_issue_time(td)) {
            user->waiting[n]->issue_time = now;
            io_u_queued(td, user->waiting[n]);
        }
    }
    if (td->o.read_iolog_file) {
        td->last_issue = now;   /* from which a log's delays count */
    }
    io_u_mark_submit(td, n);
    user->queued -= n;
    memmove(user->waiting, user->waiting + n,
            user->queued * sizeof(*user->waiting));
    return ret;
}

static int user_commit(struct thread_data *td)
{
    struct user *user = td->io_ops_data;
    int ret;

    if (!user->queued) {
        return 0;
    }
    if (!user->started) {
        user->started = true;
        print_clock("start");
    }
    ret = push_all(td);
    if (ret) {
        return ret;
    }
    ret = cintio_ring(user->q);
    if (ret) {
        fail(td, ret, cintio_queue_error(user->q));
    }
    return ret;
}

static int user_getevents(struct thread_data *td, unsigned int min,
                          unsigned int max, const struct timespec *limit)
{
    const struct user_options *o = td->eo;
    struct user *user = td->io_ops_data;
    uint64_t ns = limit ? limit->tv_sec * UINT64_C(1000000000) +
                          limit->tv_nsec : CINTIO_FOREVER;
    int ret;

    if (min && o->complete_min > min) {
        min = o->complete_min < max ? o->complete_min : max;
    }
    ret = user_commit(td);
    if (!ret) {
        ret = cintio_complete(user->q, user->done, min, max, ns);
        if (ret < 0) {
            fail(td, ret, cintio_queue_error(user->q));
        }
    }
    return ret;
}

static struct io_u *user_event(struct thread_data *td, int index)
{
    struct user *user = td->io_ops_data;
    const struct cintio_done *done = &user->done[index];
    struct io_u *io_u = (struct io_u *)(uintptr_t)done->cookie;

    io_u->error = done->status ? EIO : 0;
    io_u->resid = 0;
    if (done->status) {
        log_err("fio: %s: NVMe status %03xh\n", td->o.name, done->status);
    }
    return io_u;
}

static int user_open(struct thread_data *td, struct fio_file *f)
{
    return 0;
}

static int user_close(struct thread_data *td, struct fio_file *f)
{
    return 0;
}

/* Nobody has a cache. */
static int user_invalidate(struct thread_data *td, struct fio_file *f)
{
    return 0;
}

static struct ioengine_ops engine = {
    .name = "cintio",
    .version = FIO_IOOPS_VERSION,
    .flags = FIO_RAWIO | FIO_NOEXTEND | FIO_NODISKUTIL | FIO_MEMALIGN |
             FIO_ASYNCIO_SETS_ISSUE_TIME,
    .setup = user_setup,
    .init = user_init,
    .queue = user_queue,
    .commit = user_commit,
    .getevents = user_getevents,
    .event = user_event,
    .cleanup = user_cleanup,
    .open_file = user_open,
    .close_file = user_close,
    .invalidate = user_invalidate,
    .iomem_alloc = user_iomem_alloc,
    .iomem_free = user_iomem_free,
    .options = user_options,
    .option_struct_size = sizeof(struct user_options),
};

static void fio_init user_register(void)
{
    register_ioengine(&engine);
}

static void fio_exit user_unregister(void)
{
    unregister_ioengine(&engine);
}
