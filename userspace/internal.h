/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the parts of the driver share; programs include cintio.h.
 *
 * Parts: controller.c (start, reset), admin.c (admin commands), memory.c (what
 * the controller reaches), places.c (at which addresses), queue.c (rings),
 * pairs.c (what the controller does about them), namespace.c, command.c
 * (commands on their way in), reap.c (which completions are to be taken),
 * wait.c (modes, the pointer, sleeping), group.c (many at a time), vfio.c (the
 * kernel's side), bind.c (which driver has the device), users.c (who uses its
 * disks).
 *
 * With CINTIO_TEST a test may come between the steps of waiting.
 */
#ifndef CINTIO_INTERNAL_H
#define CINTIO_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "cintio.h"
#include "nvme.h"

/* Of structures that begin with their size, as of version 0.1. */
#define CINTIO_OPTIONS_0_1          16
#define CINTIO_QUEUE_OPTIONS_0_1    24
#define CINTIO_STATISTICS_0_1       88
_Static_assert(sizeof(struct cintio_options) >= CINTIO_OPTIONS_0_1, "ABI");
_Static_assert(sizeof(struct cintio_queue_options) >=
               CINTIO_QUEUE_OPTIONS_0_1, "ABI");
_Static_assert(sizeof(struct cintio_statistics) >= CINTIO_STATISTICS_0_1,
               "ABI");
/* Those without one do not. */
_Static_assert(sizeof(struct cintio_io) == 128, "ABI");
_Static_assert(sizeof(struct cintio_done) == 32, "ABI");
_Static_assert(sizeof(struct cintio_ready) == 40, "ABI");

#define CINTIO_ADMIN_ENTRIES 32
#define CINTIO_MAX_QUEUES    1024   /* I/O queue pairs asked for */
#define CINTIO_GATHER_NS     10000  /* of a queue that nobody said it of */
#define CINTIO_MAX_DOUBTS    8      /* then a record is not gone by any more */
#define CINTIO_MAX_TRANSFER  (2u << 20) /* one page of PRPs */

/* Memory that the controller can reach. */
struct cintio_mem {
    void *addr;
    size_t len;             /* bytes */
    uint64_t iova;          /* of addr, where all is in one piece */
    uint64_t *pages;        /* else the address of each 2^shift bytes */
    unsigned int shift;
    uint64_t offset;        /* in the file of huge pages ... */
    bool of_file;           /* ... which it is of */
    bool foreign;           /* the caller's memory: only mapped */
    const void *space;      /* of its controller, where iova is an address */
    struct cintio_mem *next;    /* in a list of what is kept */
};

/*
 * How a controller is reached: VFIO, or a test's fake. Functions return 0 or
 * -errno with a text. read32 and write32 are NULL where registers are memory.
 */
struct cintio_ops {
    int (*map)(struct cintio *dev, struct cintio_mem *mem,
               struct cintio_error *err);
    void (*unmap)(struct cintio *dev, struct cintio_mem *mem);
    /* Signal @eventfd at interrupts of @vector; -1: at none. */
    int (*notify)(struct cintio *dev, unsigned int vector, int eventfd,
                  struct cintio_error *err);
    uint32_t (*read32)(struct cintio *dev, uint32_t offset);
    void (*write32)(struct cintio *dev, uint32_t offset, uint32_t value);
    /*
     * From now on the controller does nothing. What is mapped is unmapped yet;
     * then what is left of the way to it is released (NULL: nothing is).
     */
    void (*close)(struct cintio *dev);
    void (*release)(struct cintio *dev);
};

struct cintio {
    const struct cintio_ops *ops;
    void *carrier;              /* of ops */
    uint8_t *bar;               /* BAR0 */
    size_t bar_size;
    unsigned int vectors;       /* MSI-X, the admin queue's is 0 */
    int removal;                /* readable: the kernel asks for the device */
    const void *space;          /* shared by controllers of an IOMMU group */
    bool needs_huge_pages;      /* memory is addressed physically */
    int pages;                  /* ... and of this file; -1: there is none */
    _Atomic uint64_t pages_end; /* where its next piece begins */
    bool inherited;             /* by a child, which has no controller */

    struct cintio_options options;
    /*
     * What is being learned, by a reset; and what was, which is not written
     * any more: threads may look at it while the controller is reset, and a
     * queue goes by that of its creation.
     */
    struct cintio_info info;
    struct cintio_learned *_Atomic learned;
    unsigned int doorbell_shift;
    uint32_t pointer_offset, pointer_stride;

    /*
     * Read by whoever wants something of the controller, so that it is not
     * reset meanwhile; written by a reset, which they leave it to at once. The
     * other two are held for moments, and by nobody who waits.
     */
    pthread_rwlock_t reset_lock;
    pthread_mutex_t admin_lock;         /* of the admin queue */
    pthread_mutex_t tables_lock;        /* of queues and namespaces */
    _Atomic unsigned int resets;        /* that wait for the lock */
    _Atomic unsigned int generation;    /* up by one at each reset */
    _Atomic bool running;               /* it was to stop and has not */
    _Atomic unsigned int held;          /* queues destroyed that it has */
    struct cintio_mem *_Atomic kept;    /* given back meanwhile */
    struct cintio_spaces *namespaces;   /* that were opened */
    struct cintio_queue *admin;
    /* of a command that was given up, by its identifier: what it was about */
    struct cintio_queue *owners[CINTIO_ADMIN_ENTRIES];
    unsigned int unheard;               /* of these, since the last answer */
    struct cintio_queue **queues;       /* by identifier - 1 */
    bool switching;                     /* status records on or off */
    struct cintio_mem *records;         /* interrupt status, by CQ identifier */
    bool keeps_records;                 /* the controller does */
};

/* Information, with what was learned before, all of it until the end. */
struct cintio_learned {
    struct cintio_info info;
    struct cintio_learned *before;
};

/* A namespace, with those that were opened before, all of it until the end. */
struct cintio_spaces {
    struct cintio_namespace ns;
    struct cintio_spaces *before;
};

/* A place in the CQ: entries since its creation, index and phase there. */
struct cintio_cursor {
    uint32_t count;
    uint16_t index;
    bool phase;
};

/* A command, by its identifier. */
struct cintio_slot {
    uint64_t cookie;
    uint64_t pushed_ns;         /* in modes that sleep for a time */
    uint64_t due_ns;            /* when it has taken too long; 0: never */
    uint16_t prev, next;        /* outstanding ones, oldest first */
    bool busy, urgent;
};

#ifdef CINTIO_TEST
/* Where a test may come between, or do something else. */
enum cintio_step {
    CINTIO_STEP_REAPED,         /* the CQ was looked through */
    CINTIO_STEP_ARMED,          /* the pointer is written */
    CINTIO_STEP_LOOKED,         /*
                                 * ... and the entry is not there yet; true:
                                 * empty the eventfd now (a fault)
                                 */
    CINTIO_STEP_WOKEN,          /* poll(2) has returned */
    CINTIO_STEP_CLEARED,        /* ... and the eventfd is empty */
    CINTIO_STEP_SLEEPS,         /* poll(2) is next */
    CINTIO_STEP_SKIP_CLAMP,     /* true: ask for more than can come (a fault) */
};

typedef bool (*cintio_step_fn)(void *opaque, struct cintio_queue *queue,
                               enum cintio_step step);
#endif

struct cintio_queue {
    struct cintio *dev;
    const struct cintio_info *info;     /* when it was created */
    unsigned int generation;
    uint16_t id, entries;
    bool irq;
    bool has_cq, has_sq;        /* the controller may have them */
    bool destroyed;             /* and the controller has not let go of it */
    bool leaving;               /* somebody asks the controller to */
    bool held;                  /* ... in vain so far */
    _Atomic unsigned int unanswered;    /* commands about it, given up */
    bool pointer;               /* the policy knows the interrupt pointer */

    struct cintio_mem *mem;
    struct nvme_sqe *sq;
    struct nvme_cqe *cq;
    uint32_t max_transfer;      /* bytes that each command has PRPs for */
    uint8_t *prp_lists;
    NvmeCintRecord *record;     /* NULL: none */
    uint32_t sq_doorbell, cq_doorbell, pointer_reg;     /* offsets */

    uint16_t sq_tail;
    unsigned int queued;        /* pushed and not rung */
    unsigned int flying;        /* rung and not taken */
    struct cintio_slot *slots;  /* entries - 1, and the list's two ends */
    uint16_t *free;
    unsigned int nr_free;

    /*
     * [head, scan) was looked through. What is taken from the head on has its
     * mark, beyond the scan as well if that went back and ended early.
     */
    struct cintio_cursor head, scan;
    uint8_t *taken;
    uint32_t told;              /* the record's full_tail, as last read */
    struct {                    /* when an interrupt was last to be explained */
        uint32_t full_tail, seq;
        uint64_t interrupts;
        int64_t ahead;          /* counted messages that had not come yet */
        unsigned int urgent;    /* ... and Urgent ones taken since */
    } seen;
    bool interrupted;           /* by a message that is to be explained */
    bool release;               /* take all, once, whatever was told */
    unsigned int doubts;        /* interrupts in a row of which nothing tells */

    bool slept_elsewhere;       /* ... on the eventfd, which is to be emptied */
    bool to_tell;               /* it was, and nothing was taken since */
    bool armed;                 /* the pointer is, and was not passed */
    uint32_t target;            /* ... at this count */

    enum cintio_mode mode;
    uint64_t sleep_ns;
    uint64_t mean_ns;           /* from push to taken */
    uint64_t spin_ns, gather_ns;
    bool slept_short;           /* the last sleep was, by spin_ns */
    uint64_t gap_ns;            /* between completions; 0: not known */
    uint64_t last_ns;           /* the last call of cintio_complete() ... */
    unsigned int last_got;      /* ... and what it took */
    int eventfd;

    cintio_interrupt_fn on_interrupt;
    void *interrupt_opaque;
#ifdef CINTIO_TEST
    cintio_step_fn step;
    void *step_opaque;
#endif
    unsigned int timed;         /* outstanding ones that have a time */
    uint64_t due_ns;            /* the first of these is over, or later */
    uint64_t overdue;           /* cookie of the last one that was */
    unsigned int looks;         /* without the clock */
    uint64_t watched_ns;        /* when the controller was looked after */
    uint64_t pushed, completed, errors, late;
    uint64_t rings, heads;      /* doorbells of the SQ; of the CQ */
    uint64_t arms, sleeps;      /* pointer writes; waits in poll(2) */
    _Atomic uint64_t wakes;     /* cintio_queue_wake() */
    uint64_t wakes_seen;
    bool woken;                 /* by one of these, in this wait */
    uint64_t signals;           /* these and interrupts, of the eventfd */
    uint64_t interrupts;        /* that the eventfd told of when emptied */
    struct cintio_error error;
};

/* --- resets ------------------------------------------------------------- */

/* The controller was reset since, and has the queue no more. */
static inline bool cintio_is_stale(const struct cintio_queue *q)
{
    return q->generation != atomic_load(&q->dev->generation);
}

/* -ESTALE with a text if it is, or 0. */
int cintio_check_stale(const struct cintio_queue *q, struct cintio_error *err);

/* --- errors ------------------------------------------------------------- */

/* Leaves the text if @err is not NULL and returns @code. */
int cintio_fail(struct cintio_error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * A structure of the caller's, which begins with its size, becomes one of
 * @known bytes at @to; @first: its size in the library's first version, which a
 * size of 0 is. -EINVAL or -E2BIG with the @name of the structure.
 */
int cintio_take_sized(void *to, size_t known, size_t first, const void *from,
                      const char *name, struct cintio_error *err);

/* --- registers ---------------------------------------------------------- */

static inline uint32_t cintio_read32(struct cintio *dev, uint32_t offset)
{
    if (dev->ops->read32) {
        return dev->ops->read32(dev, offset);
    }
    return __atomic_load_n((uint32_t *)(dev->bar + offset), __ATOMIC_ACQUIRE);
}

/* What was stored in memory before is there when the controller sees it. */
static inline void cintio_write32(struct cintio *dev, uint32_t offset,
                                  uint32_t value)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (dev->ops->write32) {
        dev->ops->write32(dev, offset, value);
        return;
    }
    __atomic_store_n((uint32_t *)(dev->bar + offset), value, __ATOMIC_RELAXED);
}

/* 0, or what has become of the controller. */
int cintio_alive(struct cintio *dev, struct cintio_error *err);

/* --- controller.c ------------------------------------------------------- */

/*
 * Start a controller that @dev's ops, carrier, bar, vectors and removal say
 * how to reach; all else is 0. On failure the caller frees.
 */
int cintio_start(struct cintio *dev, const char *address,
                 const struct cintio_options *options,
                 struct cintio_error *err);

/* --- admin.c ------------------------------------------------------------ */

/* Whoever is in between is not reset; he may be told to leave by -ESTALE. */
static inline void cintio_enter(struct cintio *dev)
{
    pthread_rwlock_rdlock(&dev->reset_lock);
}

static inline void cintio_leave(struct cintio *dev)
{
    pthread_rwlock_unlock(&dev->reset_lock);
}

/* Between two looks at what is slow. */
void cintio_nap(void);

/*
 * 0, or why no queue can be made now: a command about another one was given up,
 * and there is still no answer; or the controller has not stopped.
 */
int cintio_check_answers(struct cintio *dev, struct cintio_error *err);

/*
 * A command with data; nobody resets meanwhile. Status or -errno. One that is
 * given up counts in @owner's unanswered (NULL: nobody's) until it is answered.
 */
int cintio_command(struct cintio *dev, struct cintio_queue *owner,
                   const struct nvme_sqe *sqe, void *buf, size_t len,
                   uint32_t *result, struct cintio_error *err);

/* As cintio_command(), and a bad status is -EIO with "@what failed". */
int cintio_must(struct cintio *dev, struct cintio_queue *owner,
                const char *what, const struct nvme_sqe *sqe, void *buf,
                size_t len, uint32_t *result, struct cintio_error *err);

/* Of a controller that has stopped; nobody owns what was given up any more. */
void cintio_admin_empty(struct cintio *dev);

/* @owner's end: answers about it are about nothing. */
void cintio_disown(struct cintio *dev, const struct cintio_queue *owner);

/* --- namespace.c -------------------------------------------------------- */

/* Nobody resets meanwhile. -ENOENT: there is none. */
int cintio_identify_namespace(struct cintio *dev, uint32_t nsid,
                              struct cintio_namespace *ns,
                              struct cintio_error *err);
void cintio_forget_namespaces(struct cintio *dev);

/* --- memory.c ----------------------------------------------------------- */

/* The controller's address of a byte in @mem. */
static inline uint64_t cintio_iova(const struct cintio_mem *mem,
                                   const void *at)
{
    uint64_t offset = (const uint8_t *)at - (uint8_t *)mem->addr;

    if (!mem->pages) {
        return mem->iova + offset;
    }
    return mem->pages[offset >> mem->shift] +
           (offset & ((UINT64_C(1) << mem->shift) - 1));
}

/* Of a new file, for @dev; -errno with a text if there are no huge pages. */
int cintio_open_pages(struct cintio *dev, struct cintio_error *err);

/* As cintio_free(), of what no command of a queue reads or writes. */
void cintio_free_ring(struct cintio *dev, struct cintio_mem *mem);

/* Frees what was given back while the controller might use it. */
void cintio_free_kept(struct cintio *dev);

/* The address that the CPU's page tables have for @addr; 0: they tell none. */
uint64_t cintio_physical(const void *addr);

/* --- places.c ----------------------------------------------------------- */

/* Above 4 GiB, and so above the window of interrupt messages. */
#define CINTIO_FIRST_IOVA   (UINT64_C(1) << 32)
#define CINTIO_MAX_MAPS     4096    /* at the same time */

/* By address. All 0: nothing is taken. */
struct cintio_places {
    struct {
        uint64_t iova, len;
    } at[CINTIO_MAX_MAPS];
    unsigned int nr;
};

/* Takes the first gap of @len bytes, a multiple of NVME_PAGE, or -ENOSPC. */
int cintio_place_find(struct cintio_places *places, uint64_t len,
                      uint64_t *iova);

/* Gives none from @start to @end, inclusive, from now on. */
void cintio_place_keep_clear(struct cintio_places *places, uint64_t start,
                             uint64_t end);

/* @iova: of cintio_place_find(). */
void cintio_place_leave(struct cintio_places *places, uint64_t iova);

/* --- users.c ------------------------------------------------------------ */

/* -ENOENT, or -EINVAL if the PCI function is no NVMe controller. */
int cintio_check_class(const char *address, struct cintio_error *err);

/* Disks that nobody else can mount, or make part of anything. */
struct cintio_claims {
    int *fds;
    size_t nr;
};

/*
 * Claim all disks of the controller that the kernel's driver has at @address;
 * -EBUSY with a text that says who uses one, as far as it can be seen.
 */
int cintio_claim(const char *address, struct cintio_claims *claims,
                 struct cintio_error *err);
void cintio_drop_claims(struct cintio_claims *claims);

/* --- queue.c ------------------------------------------------------------ */

/*
 * The rings alone, in memory; the controller is told by others. @max_transfer:
 * bytes that a command moves at most, two pages or more, and a power of 2.
 */
int cintio_queue_new(struct cintio *dev, uint16_t id, uint16_t entries,
                     uint32_t max_transfer, struct cintio_queue **queue,
                     struct cintio_error *err);
void cintio_queue_free(struct cintio_queue *queue);

/* As new. The controller does not use it, or has stopped. */
void cintio_queue_empty(struct cintio_queue *queue);

/* The identifier of a new command; -EAGAIN if none is free. */
int cintio_take_slot(struct cintio_queue *queue);

/* It is over, or never was. */
void cintio_give_slot(struct cintio_queue *queue, uint16_t id);

/* Puts @sqe, whose identifier was taken, into the SQ. */
void cintio_enqueue(struct cintio_queue *queue, const struct nvme_sqe *sqe);

/* The oldest command that is outstanding, of all or behind @slot; or NULL. */
const struct cintio_slot *cintio_oldest(const struct cintio_queue *queue,
                                        const struct cintio_slot *slot);

/* Of one command's list of pages: bytes, a power of 2, and so within a page. */
size_t cintio_list_size(const struct cintio_queue *queue);

/* --- pairs.c ------------------------------------------------------------ */

/*
 * Frees the queues that were destroyed and that the controller has let go of
 * since: it has answered, or it was reset. Nobody resets
 * meanwhile, or the caller does.
 */
void cintio_let_go_of_destroyed(struct cintio *dev);

/* --- reap.c ------------------------------------------------------------- */

/* Whether the entry at @place has been posted. */
bool cintio_posted(const struct cintio_queue *queue,
                   struct cintio_cursor place);

/* @place, @n entries on; @n is less than the queue has. */
struct cintio_cursor cintio_ahead(const struct cintio_queue *queue,
                                  struct cintio_cursor place, unsigned int n);

/* Take up to @max completions that may be taken now, and ring the head. */
unsigned int cintio_reap(struct cintio_queue *queue, struct cintio_done *done,
                         unsigned int max);

/* --- wait.c ------------------------------------------------------------- */

uint64_t cintio_now(void);

/* The pointer as the mode wants it, where the policy knows one. */
void cintio_set_pointer(struct cintio_queue *queue);

/* When the first command has taken too long, or CINTIO_FOREVER. */
uint64_t cintio_due(const struct cintio_queue *queue);

#ifdef CINTIO_TEST
/* For tests: call @step at each step of waiting. */
void cintio_queue_watch(struct cintio_queue *queue, cintio_step_fn step,
                        void *opaque);
#endif

/* Without an event for so long the controller is asked whether it still is. */
#define CINTIO_WATCH_NS UINT64_C(1000000000)

/*
 * Nothing has come for CINTIO_WATCH_NS, which is long: whether there is
 * something all the same, which no interrupt and no record has told of.
 */
bool cintio_was_forgotten(struct cintio_queue *queue);

#endif
