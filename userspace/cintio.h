/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cintio: an NVMe driver in user space that sleeps on the interrupt pointer.
 *
 * The controller is taken from the kernel by vfio-pci; its registers, queues
 * and data are in the process's own memory, and completions are polled, slept
 * for, or waited for on an eventfd that the completion queue's interrupt
 * signals. On a controller with cint's interrupt pointer (docs/interface.md,
 * section 5; Jiang, "Interrupt Support and Coalescing Enhancement for SPDK")
 * a thread asks for its next k completions and is woken once, by the k-th.
 * docs/userspace.md explains how that loses no wake-up.
 *
 *     struct cintio_error err;
 *     struct cintio_queue_options how = { .mode = CINTIO_COALESCED };
 *     struct cintio_io io = { .op = CINTIO_READ, .lba = 0, .blocks = 8 };
 *     struct cintio_done done[8];
 *
 *     cintio_open("0000:00:03.0", NULL, &dev, &err);
 *     cintio_alloc(dev, 4096, &io.mem, &err);
 *     io.buf = io.mem->addr;
 *     cintio_queue_create(dev, &how, &q, &err);
 *     cintio_push(q, &io);
 *     n = cintio_complete(q, done, 1, 8, CINTIO_FOREVER);
 *
 * Threads. A queue belongs to one thread at a time; several queues of one
 * controller may be used by as many threads. Functions that take a struct
 * cintio may be called by any thread at any time, except cintio_close(), which
 * is the last. No thread may be cancelled (pthread_cancel()) in a call: it may
 * hold a lock.
 *
 * Processes. One process has a controller. A child after fork() has not: there
 * its files are closed, its registers, queues and the memory of cintio_alloc()
 * are not mapped (a touch is a SIGSEGV), and cintio_close(), which frees what
 * else there is, is the only call allowed. The controller is stopped when its
 * process ends, however it ends and whatever children it leaves; the memory
 * that the controller reaches is nobody else's before. Who goes past fork() (a
 * bare clone()) has a child with the files: then that happens when the child
 * ends as well.
 *
 * Errors. Functions return 0 or a count, or a negative errno; those that take
 * a struct cintio_error also leave a sentence there that names the thing and
 * what to do (NULL: not wanted). cintio_queue_error() has one for a queue.
 *
 *     -ENODEV      the controller is gone, or the kernel asks for it back
 *     -ESTALE      the controller was reset: destroy the queue, make another
 *     -EIO         the controller has failed (CSTS.CFS) or was stopped
 *     -EAGAIN      cintio_push(): as many commands as fit are outstanding
 *     -ENOTSUP     the controller cannot do it: the text says what it lacks
 *     -EBUSY, -EACCES, -ENOENT, -EPERM ...   cintio_open(): see its text
 */
#ifndef CINTIO_H
#define CINTIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cintio;
struct cintio_queue;

struct cintio_error {
    char text[256];
};

/* Memory that the controller can reach. */
struct cintio_mem {
    void *addr;
    size_t len;             /* bytes */
    /* the library's own */
    uint64_t iova;          /* of addr, where all is in one piece */
    uint64_t *pages;        /* else the address of each 2^shift bytes */
    unsigned int shift;
    uint64_t offset;        /* in the file of huge pages ... */
    bool of_file;           /* ... which it is of */
    bool foreign;           /* the caller's memory: only mapped */
    struct cintio_mem *next;    /* in a list of what is kept */
};

struct cintio_options {
    uint32_t nsid;          /* namespace; 0 = 1 */
    uint16_t queues;        /* I/O queue pairs to ask for; 0 = 8 */
    uint32_t timeout_ms;    /* of admin commands and resets; 0 = 10000 */
};

/* What there is. Texts end with a NUL, without trailing blanks. */
struct cintio_info {
    char model[41], serial[21], firmware[9];
    char address[16];       /* as given to cintio_open() */
    uint32_t nsid;
    uint32_t block_size;    /* bytes */
    uint64_t blocks;
    uint32_t max_transfer;  /* bytes in one command */
    uint16_t max_entries;   /* of one queue */
    uint16_t queues;        /* I/O queue pairs that can exist at once */
    bool iommu;             /* false: physical addresses, nothing is confined */
    uint32_t cint_caps;     /* NVME_CINT_CAP_*, 0 = a controller without cint */
};

enum cintio_mode {
    CINTIO_POLL,            /* look at the queue until it is there */
    CINTIO_SLEEP,           /* sleep for sleep_ns since submission, then poll */
    CINTIO_SLEEP_ADAPTIVE,  /* sleep for half of the mean time, then poll */
    CINTIO_INTERRUPT,       /* sleep until the next interrupt */
    CINTIO_COALESCED,       /* sleep until the interrupt pointer is passed */
};

struct cintio_queue_options {
    uint16_t entries;       /* 2 to max_entries, one stays free; 0 = 256 */
    enum cintio_mode mode;
    uint64_t sleep_ns;      /* CINTIO_SLEEP */
    bool no_interrupts;     /* create the CQ with IEN = 0: polled for ever */
};

enum cintio_op {
    CINTIO_READ,
    CINTIO_WRITE,
    CINTIO_FLUSH,           /* no buffer */
};

/* Hints for the controller's policy "cint"; dropped where it knows none. */
#define CINTIO_URGENT   (1u << 0)   /* somebody waits for this one */
#define CINTIO_BARRIER  (1u << 1)   /* ... for all up to this one */

struct cintio_io {
    enum cintio_op op;
    unsigned int hints;
    uint64_t lba;           /* blocks */
    uint32_t blocks;        /* 1 to max_transfer / block_size */
    struct cintio_mem *mem; /* what buf lies in */
    void *buf;              /* aligned to 4 bytes */
    uint64_t cookie;        /* comes back in struct cintio_done */
};

struct cintio_done {
    uint64_t cookie;
    uint32_t result;        /* dword 0 of the completion */
    uint16_t status;        /* status code and type, 0 = success */
};

#define CINTIO_FOREVER  UINT64_MAX

/* --- who drives the controller ------------------------------------------ */

/* Take it from whoever uses it, whose data may be lost. */
#define CINTIO_FORCE    (1u << 0)

/*
 * Give the PCI function @address ("0000:00:03.0") to vfio-pci, which takes it
 * from the driver that has it. One that vfio-pci has already is left as it is,
 * and whoever drives it, too. @flags: 0 or CINTIO_FORCE.
 *
 * -EINVAL: it is no NVMe controller (PCI class 0108xx), which nothing forces.
 * -EBUSY: one of its disks or their partitions is mounted, swapped to, part of
 * another device (device mapper, md, loop), reached by another controller
 * (multipath), or a process has it open; the text says which. The disks are
 * held meanwhile, so that no mount comes between. Not seen: NVMe over fabrics'
 * target, which serves a disk without holding it, and a process that mapped a
 * disk and closed it.
 *
 * cintio_unbind() gives it back to whatever driver the kernel chooses. It waits
 * until the process that drives the controller has closed it, which that one is
 * asked for (cintio_removal_fd()). Both need root.
 */
int cintio_bind(const char *address, unsigned int flags,
                struct cintio_error *err);
int cintio_unbind(const char *address, struct cintio_error *err);

/* --- controller --------------------------------------------------------- */

/*
 * Reset and start the controller at @address. @options may be NULL.
 * With an IOMMU the controller reaches what it is given and nothing else.
 * Without one, where the kernel allows it (vfio's
 * enable_unsafe_noiommu_mode), memory comes from huge pages and is addressed
 * physically.
 */
int cintio_open(const char *address, const struct cintio_options *options,
                struct cintio **dev, struct cintio_error *err);

/*
 * Stops the controller and frees the queues there still are, which nobody uses
 * any more. Memory of cintio_alloc() is freed before.
 */
void cintio_close(struct cintio *dev);

/*
 * As of the last start or reset. What it points to stays as it is until
 * cintio_close(); after a reset the call may return something else.
 */
const struct cintio_info *cintio_info(const struct cintio *dev);

/*
 * Readable, for poll(2) and the like, when the kernel wants the controller back
 * (cintio_unbind(), hot unplug): close it, the kernel waits for that. Whoever
 * is in cintio_complete() is told by -ENODEV; who may be in no call for long
 * watches this, in cintio_group_add_fd() or a loop of his own. It belongs to
 * the library: neither read nor close it. -1: the kernel cannot tell.
 */
int cintio_removal_fd(const struct cintio *dev);

/*
 * Reset and start again. What is outstanding is lost: calls on the queues,
 * also those that sleep now, end with -ESTALE. Such a queue keeps its
 * identifier until it is destroyed. Status records are off afterwards. Its
 * commands may use their buffers until cintio_queue_destroy() has returned.
 *
 * It waits for no other thread's admin command: those that are not answered
 * yet, and calls that need one, end with -ESTALE.
 *
 * -ETIMEDOUT "did not stop": the controller may still use what it was given.
 * Queues and memory may be given back as always, but stay in place until it has
 * stopped, by another cintio_reset() or by cintio_close(). Until then admin
 * commands, and so new queues, end with -EIO.
 */
int cintio_reset(struct cintio *dev, struct cintio_error *err);

/*
 * One admin command, @sqe of 64 bytes without identifier and data pointer;
 * @buf (any memory, may be NULL) is copied to and from the controller.
 * Returns the status (0 = success), or a negative errno. @result (may be NULL)
 * is dword 0 of the completion.
 */
int cintio_admin(struct cintio *dev, const void *sqe, void *buf, size_t len,
                 uint32_t *result, struct cintio_error *err);

/*
 * The whole of log page D0h (struct NvmeCintLogHeader and its records), which
 * the caller frees. Queues that were destroyed are not in it any more.
 */
int cintio_log(struct cintio *dev, void **page, size_t *len,
               struct cintio_error *err);

/*
 * Have the controller keep interrupt status records (feature D1h), or not.
 * Then cintio_complete() under policy "cint" takes what an interrupt has told
 * of and what is Urgent, and leaves the rest for its own interrupt. Only while
 * the controller has no queues.
 */
int cintio_records(struct cintio *dev, bool on, struct cintio_error *err);

/* --- memory ------------------------------------------------------------- */

/* New memory for data, zeroed, aligned to a page. A child has it not. */
int cintio_alloc(struct cintio *dev, size_t len, struct cintio_mem **mem,
                 struct cintio_error *err);

/* Memory the caller has, aligned to pages. Only with an IOMMU. */
int cintio_map(struct cintio *dev, void *addr, size_t len,
               struct cintio_mem **mem, struct cintio_error *err);

/*
 * Gives either back; no command may use it any more. Those of a queue that was
 * destroyed do not: see there.
 */
void cintio_free(struct cintio *dev, struct cintio_mem *mem);

/* --- queue pairs -------------------------------------------------------- */

/*
 * @options may be NULL. Beside its rings a queue takes entries x max_transfer /
 * 512 bytes for lists of pages, all of it in memory that stays where it is;
 * without an IOMMU a huge page at least.
 */
int cintio_queue_create(struct cintio *dev,
                        const struct cintio_queue_options *options,
                        struct cintio_queue **queue, struct cintio_error *err);

/*
 * Commands that are outstanding are given up. Where the controller does not
 * answer, the queue's memory and identifier, and what is given back to
 * cintio_free(), stay until it has and a queue is created, or until
 * cintio_reset() or cintio_close().
 */
void cintio_queue_destroy(struct cintio_queue *queue);

/*
 * How completions are waited for from now on; @sleep_ns is that of
 * CINTIO_SLEEP. CINTIO_COALESCED needs a controller with the interrupt pointer
 * and a queue whose policy is "pointer". The sleeping modes set the calling
 * thread's timer slack to 1 ns.
 */
int cintio_queue_set_mode(struct cintio_queue *queue, enum cintio_mode mode,
                          uint64_t sleep_ns, struct cintio_error *err);

/*
 * The policy, enum NvmeCintPolicyId, that the controller has for the queue
 * from now on; its parameters stay.
 */
int cintio_queue_set_policy(struct cintio_queue *queue, unsigned int policy,
                            struct cintio_error *err);

uint16_t cintio_queue_id(const struct cintio_queue *queue);

/* What the last negative return value of a call on @queue was about. */
const char *cintio_queue_error(const struct cintio_queue *queue);

/* Commands pushed whose completions were not returned yet. */
unsigned int cintio_outstanding(const struct cintio_queue *queue);

/*
 * Put a command into the submission queue. The controller does not look at it
 * before cintio_ring() or cintio_complete(). -EAGAIN: as many as fit are
 * outstanding; -EINVAL: see cintio_queue_error().
 */
int cintio_push(struct cintio_queue *queue, const struct cintio_io *io);

/* Tell the controller of what was pushed. */
int cintio_ring(struct cintio_queue *queue);

/*
 * Take up to @max completions, and wait as the mode says until there are
 * @min of them or @timeout_ns have passed. @min is clamped to what is
 * outstanding, so it may be UINT_MAX for "all". A signal does not end the wait.
 * Returns how many, or a negative errno if there are none and none will come.
 */
int cintio_complete(struct cintio_queue *queue, struct cintio_done *done,
                    unsigned int min, unsigned int max, uint64_t timeout_ns);

/* --- waiting for more than one thing ------------------------------------ */

/*
 * For poll(2), epoll and io_uring: readable once the queue has interrupted, was
 * woken, or its controller was reset. It stays the queue's, which empties it:
 * whoever reads it takes wake-ups away. -ENOTSUP: no interrupts.
 *
 *     while ((n = cintio_complete(q, done, 0, max, 0)) >= 0) {
 *         ... take them, push others ...
 *         if (cintio_queue_arm(q, min) == 0) {
 *             ... sleep until the fd, or anything else, is readable ...
 *         }
 *     }
 *
 * Nothing is told of a controller that is gone: sleep for a second at most.
 */
int cintio_queue_fd(struct cintio_queue *queue);

/*
 * Before sleeping on the fd: rings what was pushed, and asks for an interrupt
 * once @min completions are there, as cintio_complete() does in the modes
 * CINTIO_INTERRUPT (at the next) and CINTIO_COALESCED (at the last of them);
 * -EINVAL in others. Returns 0: sleep, then call cintio_complete(), which
 * empties the fd. 1: there is something already: do not sleep. @min is clamped
 * as there; 0 is 1.
 */
int cintio_queue_arm(struct cintio_queue *queue, unsigned int min);

/*
 * Ends the wait of whoever waits for @queue, in the modes that sleep until an
 * interrupt: the fd is readable, and cintio_complete() returns what there is,
 * 0 if there is nothing. If nobody waits, the next wait that would sleep ends.
 * Any thread, while the queue is not destroyed.
 */
void cintio_queue_wake(struct cintio_queue *queue);

/*
 * Many queues, of any controllers, and foreign file descriptors, by one thread.
 * A queue is in one group at most, and leaves it before it is destroyed.
 */
struct cintio_group;

struct cintio_ready {
    void *opaque;               /* as given when it was added */
    struct cintio_queue *queue; /* NULL: a foreign fd */
    int fd;                     /* of the foreign one */
    uint32_t events;            /* EPOLLIN and so on, of the foreign one */
    int result;                 /* 0, or the queue's error, negative */
};

int cintio_group_create(struct cintio_group **group, struct cintio_error *err);

/* What is in it leaves it. NULL is none. */
void cintio_group_destroy(struct cintio_group *group);

/* In mode CINTIO_INTERRUPT or CINTIO_COALESCED when it is waited for. */
int cintio_group_add(struct cintio_group *group, struct cintio_queue *queue,
                     void *opaque, struct cintio_error *err);
void cintio_group_remove(struct cintio_group *group,
                         struct cintio_queue *queue);

/* @events: those of epoll_ctl(2). */
int cintio_group_add_fd(struct cintio_group *group, int fd, uint32_t events,
                        void *opaque, struct cintio_error *err);
void cintio_group_remove_fd(struct cintio_group *group, int fd);

/*
 * Arms the queues for @min completions each, and sleeps until one of them or a
 * foreign fd is ready, cintio_group_wake() is called, or @timeout_ns have
 * passed. Returns how many of @ready are set, at most @max, the last added
 * first; 0 after a wake-up or the time. For a queue that is ready call
 * cintio_complete() with a min of 0. A signal does not end the wait. -EINVAL:
 * @max is 0.
 */
int cintio_group_wait(struct cintio_group *group, unsigned int min,
                      struct cintio_ready *ready, unsigned int max,
                      uint64_t timeout_ns, struct cintio_error *err);

/* Any thread, also before somebody waits: that wait ends at once. */
void cintio_group_wake(struct cintio_group *group);

#endif
