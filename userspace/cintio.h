/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: an NVMe driver in user space that sleeps on the interrupt pointer.
 */
#ifndef CINTIO_H
#define CINTIO_H

/**
 * DOC: Overview
 *
 * The controller is taken from the kernel by vfio-pci; its registers, queues
 * and data are in the process's own memory, and completions are polled, slept
 * for, or waited for on an eventfd that the completion queue's interrupt
 * signals. On a controller with cint's interrupt pointer (docs/interface.md,
 * section 5; Jiang, "Interrupt Support and Coalescing Enhancement for SPDK")
 * a thread asks for its next k completions and is woken once, by the k-th.
 * docs/userspace.md explains how that loses no wake-up. Needs Linux on x86-64.
 *
 * Six calls are a program::
 *
 *     struct cintio_queue_options how = { .mode = CINTIO_COALESCED };
 *     struct cintio_io io = { .op = CINTIO_READ, .lba = 0, .blocks = 8 };
 *     struct cintio_done done[8];
 *     struct cintio_error err;
 *     struct cintio_queue *q;
 *     struct cintio *dev;
 *     int n;
 *
 *     if (cintio_open("0000:00:03.0", NULL, &dev, &err) ||
 *         cintio_alloc(dev, 8 * cintio_info(dev)->block_size, &io.mem, &err) ||
 *         cintio_queue_create(dev, &how, &q, &err)) {
 *         fprintf(stderr, "%s\n", err.text);
 *         exit(1);
 *     }
 *     io.buf = cintio_mem_addr(io.mem);
 *     cintio_push(q, &io);
 *     n = cintio_complete(q, done, 1, 8, CINTIO_FOREVER);
 */

/**
 * DOC: Threads
 *
 * A queue belongs to one thread at a time; several queues of one controller may
 * be used by as many threads. Functions that take a struct cintio may be called
 * by any thread at any time, except cintio_close(), which is the last. No
 * thread may be cancelled (pthread_cancel()) in a call: it may hold a lock.
 */

/**
 * DOC: Processes
 *
 * One process has a controller. A child after fork() has not: there its files
 * are closed, its registers, queues and the memory of cintio_alloc() are not
 * mapped (a touch is a SIGSEGV), and cintio_close(), which frees what else
 * there is, is the only call allowed. The controller is stopped when its
 * process ends, however it ends and whatever children it leaves; the memory
 * that the controller reaches is nobody else's before. Who goes past fork() (a
 * bare clone()) has a child with the files: then that happens when the child
 * ends as well.
 */

/**
 * DOC: Errors
 *
 * Functions return 0 or a count, or a negative errno; those that take a struct
 * cintio_error also leave a sentence there that names the thing and what to do
 * (NULL: not wanted). cintio_queue_error() has one for a queue::
 *
 *     -ENODEV      the controller is gone, or the kernel asks for it back
 *     -ESTALE      the controller was reset: destroy the queue, make another
 *     -EIO         the controller has failed (CSTS.CFS) or was stopped
 *     -EAGAIN      cintio_push(): as many commands as fit are outstanding
 *     -ETIME       cintio_complete(): a command took longer than its time
 *     -ENOTSUP     the controller cannot do it: the text says what it lacks
 *     -E2BIG       a structure is of a later version than the library
 *     -EBUSY, -EACCES, -ENOENT, -EPERM ...   cintio_open(): see its text
 */

/**
 * DOC: Versions
 *
 * Structures that a program fills and that may grow begin with their size, as
 * the program knows it: `.size = sizeof(how)`. 0 is that of version 0.1. What
 * lies beyond it is taken for 0; what the library does not know and is not 0
 * ends with -E2BIG. In structures that the library fills the size says how much
 * of them it knows. Those of each command have reserved fields, which are 0.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cint-abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All that the shared library exports is between this and the pop. */
#pragma GCC visibility push(default)

#define CINTIO_VERSION  "0.1.0"

struct cintio;
struct cintio_queue;
struct cintio_mem;

/**
 * struct cintio_error - what went wrong
 * @text: a sentence that names the thing and what to do, without a newline
 */
struct cintio_error {
    char text[256];
};

/**
 * struct cintio_options - how a controller is opened; all 0 will do
 * @size: sizeof, or 0
 * @nsid: the namespace that is meant where none is named; 0 = 1;
 *        CINTIO_NO_NAMESPACE: none, each command names its own
 * @queues: I/O queue pairs to ask for, 1 to 1024; 0 = 8
 * @timeout_ms: of admin commands, resets and shutdown; 0 = 10000; no less than
 *              the controller asks for
 */
struct cintio_options {
    uint32_t size;
    uint32_t nsid;
    uint16_t queues;
    uint32_t timeout_ms;
};

#define CINTIO_NO_NAMESPACE UINT32_MAX

/**
 * struct cintio_info - what there is
 * @size: of what the library fills
 * @model: as the controller has it, without trailing blanks, with a NUL
 * @serial: the same
 * @firmware: the same
 * @address: as given to cintio_open()
 * @nsid: the namespace of cintio_open()
 * @block_size: its blocks, in bytes; 0 with CINTIO_NO_NAMESPACE
 * @blocks: how many
 * @max_transfer: bytes in one command
 * @max_entries: of one queue
 * @queues: I/O queue pairs that can exist at once
 * @iommu: false: physical addresses, nothing is confined
 * @sgl: data may be in pieces of any length, not only of whole pages
 * @cint_caps: NVME_CINT_CAP_*, 0 = a controller without cint
 */
struct cintio_info {
    uint32_t size;
    char model[41], serial[21], firmware[9];
    char address[16];
    uint32_t nsid;
    uint32_t block_size;
    uint64_t blocks;
    uint32_t max_transfer;
    uint16_t max_entries;
    uint16_t queues;
    bool iommu;
    bool sgl;
    uint32_t cint_caps;
};

/**
 * struct cintio_namespace - one of a controller's namespaces
 * @size: of what the library fills
 * @nsid: its identifier
 * @block_size: bytes
 * @blocks: how many
 */
struct cintio_namespace {
    uint32_t size;
    uint32_t nsid;
    uint32_t block_size;
    uint64_t blocks;
};

/**
 * enum cintio_mode - how completions are waited for
 * @CINTIO_POLL: look at the queue until they are there
 * @CINTIO_SLEEP: sleep for sleep_ns since submission, then poll
 * @CINTIO_SLEEP_ADAPTIVE: sleep for half of the mean time, then poll
 * @CINTIO_INTERRUPT: sleep until the next interrupt
 * @CINTIO_COALESCED: sleep until the interrupt pointer is passed
 */
enum cintio_mode {
    CINTIO_POLL,
    CINTIO_SLEEP,
    CINTIO_SLEEP_ADAPTIVE,
    CINTIO_INTERRUPT,
    CINTIO_COALESCED,
};

/**
 * enum cintio_policy - when the controller interrupts for a queue
 * @CINTIO_POLICY_OWN: as the controller has it, but for a queue that is made
 *                     with CINTIO_COALESCED, which gets the policy pointer
 * @CINTIO_POLICY_DEFAULT: for each completion
 * @CINTIO_POLICY_STATIC: NVMe's own threshold and time
 * @CINTIO_POLICY_ADAPTIVE: bursts
 * @CINTIO_POLICY_VIC: a ratio, by the number of commands in flight
 * @CINTIO_POLICY_CINT: hints (cinterrupts)
 * @CINTIO_POLICY_POINTER: when the interrupt pointer is passed
 */
enum cintio_policy {
    CINTIO_POLICY_OWN,
    CINTIO_POLICY_DEFAULT   = 1 + NVME_CINT_POLICY_DEFAULT,
    CINTIO_POLICY_STATIC    = 1 + NVME_CINT_POLICY_STATIC,
    CINTIO_POLICY_ADAPTIVE  = 1 + NVME_CINT_POLICY_ADAPTIVE,
    CINTIO_POLICY_VIC       = 1 + NVME_CINT_POLICY_VIC,
    CINTIO_POLICY_CINT      = 1 + NVME_CINT_POLICY_CINT,
    CINTIO_POLICY_POINTER   = 1 + NVME_CINT_POLICY_POINTER,
};

/**
 * struct cintio_queue_options - how a queue pair is made; all 0 will do
 * @size: sizeof, or 0
 * @mode: how completions are waited for; cintio_queue_set_mode() changes it
 * @policy: the controller's for this queue; cintio_queue_set_policy() changes
 *          it; its parameters stay as they are
 * @entries: 2 to max_entries, one stays free; 0 = 256
 * @no_interrupts: create the completion queue with IEN = 0: polled for ever
 * @sleep_ns: of CINTIO_SLEEP
 */
struct cintio_queue_options {
    uint32_t size;
    enum cintio_mode mode;
    enum cintio_policy policy;
    uint16_t entries;
    bool no_interrupts;
    uint64_t sleep_ns;
};

/**
 * enum cintio_op - what a command does
 * @CINTIO_READ: blocks from the medium to memory
 * @CINTIO_WRITE: the other way
 * @CINTIO_FLUSH: what was written is on the medium; no buffer
 * @CINTIO_RAW: what its sqe says
 */
enum cintio_op {
    CINTIO_READ,
    CINTIO_WRITE,
    CINTIO_FLUSH,
    CINTIO_RAW,
};

/* Hints for the controller's policy "cint"; dropped where it knows none. */
#define CINTIO_URGENT   (1u << 0)   /* somebody waits for this one */
#define CINTIO_BARRIER  (1u << 1)   /* ... for all up to this one */

/* Flags of a command. */
#define CINTIO_FUA      (1u << 0)   /* read, write: the medium, not a cache */

/**
 * struct cintio_vec - a piece of a command's data
 * @mem: what @buf lies in; of the same controller, or one of its IOMMU group
 * @buf: aligned to 4 bytes
 * @len: bytes, a multiple of 4
 */
struct cintio_vec {
    struct cintio_mem *mem;
    void *buf;
    size_t len;
};

/**
 * struct cintio_io - a command
 * @op: what it does
 * @hints: CINTIO_URGENT, CINTIO_BARRIER
 * @flags: CINTIO_FUA
 * @blocks: 1 to max_transfer / block_size
 * @lba: the first block
 * @ns: of cintio_namespace_open(); NULL: that of cintio_open()
 * @mem: what @buf lies in; of the same controller, or one of its IOMMU group
 * @buf: aligned to 4 bytes
 * @len: CINTIO_RAW: bytes at @buf, a multiple of 4; 0: no data. Others: not
 *       looked at
 * @vec: the data in pieces, in place of @mem, @buf and @len. Pieces but the
 *       first begin at a multiple of 4096 bytes, and pieces but the last end
 *       there, unless the controller has SGLs (info's sgl)
 * @nr_vecs: how many; 0: @mem, @buf
 * @sqe: CINTIO_RAW: 64 bytes. Identifier, data pointer and the bits that say of
 *       which kind it is (PSDT) are the library's, hints are added, and all
 *       else is sent as it is, the namespace, too
 * @timeout_ns: since cintio_push(): then cintio_complete() ends with -ETIME,
 *              once; 0: none
 * @cookie: comes back in struct cintio_done
 * @reserved: 0
 */
struct cintio_io {
    enum cintio_op op;
    uint32_t hints;
    uint32_t flags;
    uint32_t blocks;
    uint64_t lba;
    const struct cintio_namespace *ns;
    struct cintio_mem *mem;
    void *buf;
    size_t len;
    const struct cintio_vec *vec;
    size_t nr_vecs;
    const void *sqe;
    uint64_t timeout_ns;
    uint64_t cookie;
    uint64_t reserved[4];
};

/* Of a completion, beside its status. */
#define CINTIO_CRD      (3u << 0)   /* which delay before a retry, 0: none */
#define CINTIO_MORE     (1u << 2)   /* the error log has more about it */
#define CINTIO_DNR      (1u << 3)   /* the same command would fail again */

/**
 * struct cintio_done - how a command ended
 * @cookie: of struct cintio_io
 * @result: dword 0 of the completion
 * @result_high: dword 1
 * @status: status code (bits 7:0) and type (10:8), 0 = success
 * @flags: CINTIO_CRD, CINTIO_MORE, CINTIO_DNR: the rest of the status field
 * @reserved: 0
 */
struct cintio_done {
    uint64_t cookie;
    uint32_t result;
    uint32_t result_high;
    uint16_t status;
    uint16_t flags;
    uint32_t reserved[3];
};

/**
 * struct cintio_statistics - what a queue has counted since it was made
 * @size: sizeof, or 0; then of what was filled
 * @outstanding: commands, now
 * @pushed: commands
 * @completed: of those, returned by cintio_complete()
 * @errors: of those, with a status that is not 0
 * @overdue: commands that took longer than their timeout_ns
 * @rings: writes of the submission queue's doorbell
 * @heads: writes of the completion queue's doorbell
 * @arms: writes of the interrupt pointer
 * @sleeps: waits that slept
 * @interrupts: that the eventfd told of when it was emptied
 * @wakes: cintio_queue_wake(), and resets
 */
struct cintio_statistics {
    uint32_t size;
    uint32_t outstanding;
    uint64_t pushed, completed, errors, overdue;
    uint64_t rings, heads, arms, sleeps, interrupts, wakes;
};

#define CINTIO_FOREVER  UINT64_MAX

/**
 * cintio_version() - the library's version
 *
 * Return: as CINTIO_VERSION, of the library that was linked.
 */
const char *cintio_version(void);

/* --- who drives the controller ------------------------------------------ */

/* For cintio_bind(): take it from whoever uses it, whose data may be lost. */
#define CINTIO_FORCE    (1u << 0)

/**
 * cintio_bind() - give a PCI function to vfio-pci
 * @address: as lspci -D shows it: "0000:00:03.0"
 * @flags: 0 or CINTIO_FORCE
 * @err: what went wrong, or NULL
 *
 * It is taken from the driver that has it. One that vfio-pci has already is
 * left as it is, and whoever drives it, too. Its disks are held meanwhile, so
 * that no mount comes between. Not seen: NVMe over fabrics' target, which
 * serves a disk without holding it, and a process that closed a disk which it
 * had mapped, or registered with io_uring. Needs root.
 *
 * Return: 0, or a negative errno. -EINVAL: it is no NVMe controller (PCI class
 * 0108xx), which nothing forces. -EBUSY: one of its disks or their partitions
 * is mounted, swapped to, part of another device (device mapper, md, loop),
 * reached by another controller (multipath), or a process has it open, or the
 * controller's registers (UIO); the text says which.
 */
int cintio_bind(const char *address, unsigned int flags,
                struct cintio_error *err);

/**
 * cintio_unbind() - give it back to whatever driver the kernel chooses
 * @address: of cintio_bind()
 * @err: what went wrong, or NULL
 *
 * Waits until the process that drives the controller has closed it, which that
 * one is asked for (cintio_removal_fd()). Needs root.
 *
 * Return: 0, or a negative errno.
 */
int cintio_unbind(const char *address, struct cintio_error *err);

/* --- controller --------------------------------------------------------- */

/**
 * cintio_open() - take a controller, reset and start it
 * @address: of its PCI function, which vfio-pci has
 * @options: NULL: the usual ones
 * @dev: the controller
 * @err: what went wrong, or NULL
 *
 * With an IOMMU the controller reaches what it is given and nothing else.
 * Without one, where the kernel allows it (vfio's
 * enable_unsafe_noiommu_mode), memory comes from huge pages and is addressed
 * physically.
 *
 * A process opens each controller once, and as many as it likes, also those of
 * one IOMMU group: these have one address space, and each reaches what the
 * others are given. Another process has no part of such a group.
 *
 * Return: 0, or a negative errno with a text for each obstacle.
 */
int cintio_open(const char *address, const struct cintio_options *options,
                struct cintio **dev, struct cintio_error *err);

/**
 * cintio_close() - shut the controller down and let go of it
 * @dev: NULL is none
 *
 * Tells the controller that it will be off (CC.SHN), waits until it says that
 * all is on the medium, at most the options' timeout, and stops it. Frees the
 * queues there still are, which nobody uses any more. Memory of cintio_alloc()
 * is freed before.
 */
void cintio_close(struct cintio *dev);

/**
 * cintio_info() - what there is
 * @dev: the controller
 *
 * Return: as of the last start or reset. What it points to stays as it is until
 * cintio_close(); after a reset the call may return something else.
 */
const struct cintio_info *cintio_info(const struct cintio *dev);

/**
 * cintio_removal_fd() - hear that the kernel wants the controller back
 * @dev: the controller
 *
 * Readable, for poll(2) and the like, when it does (cintio_unbind(), hot
 * unplug): close it, the kernel waits for that. Whoever is in cintio_complete()
 * is told by -ENODEV; who may be in no call for long watches this, in
 * cintio_group_add_fd() or a loop of his own. It belongs to the library:
 * neither read nor close it.
 *
 * Return: a file descriptor; -1: the kernel cannot tell.
 */
int cintio_removal_fd(const struct cintio *dev);

/**
 * cintio_reset() - stop and start again
 * @dev: the controller
 * @err: what went wrong, or NULL
 *
 * What is outstanding is lost: calls on the queues, also those that sleep now,
 * end with -ESTALE. Such a queue keeps its identifier until it is destroyed.
 * Status records are off afterwards. Its commands may use their buffers until
 * cintio_queue_destroy() has returned.
 *
 * It waits for no other thread's admin command: those that are not answered
 * yet, and calls that need one, end with -ESTALE.
 *
 * Return: 0, or a negative errno. -ETIMEDOUT "did not stop": the controller may
 * still use what it was given. Queues and memory may be given back as always,
 * but stay in place until it has stopped, by another cintio_reset() or by
 * cintio_close(). Until then admin commands, and so new queues, end with -EIO.
 */
int cintio_reset(struct cintio *dev, struct cintio_error *err);

/**
 * cintio_admin() - one admin command
 * @dev: the controller
 * @sqe: 64 bytes, without identifier and data pointer
 * @buf: any memory, copied to the controller and back; NULL: no data
 * @len: bytes at @buf, 8192 at most
 * @result: dword 0 of the completion; NULL: not wanted
 * @err: what went wrong, or NULL
 *
 * The calling thread waits for it, as long as the options' timeout. So none
 * that takes longer, and none that ends only when something happens
 * (asynchronous event requests).
 *
 * Return: the status (0 = success), or a negative errno.
 */
int cintio_admin(struct cintio *dev, const void *sqe, void *buf, size_t len,
                 uint32_t *result, struct cintio_error *err);

/**
 * cintio_log() - the whole of log page D0h
 * @dev: the controller
 * @page: struct NvmeCintLogHeader and its records; the caller frees it
 * @len: bytes
 * @err: what went wrong, or NULL
 *
 * Queues that were destroyed are not in it any more.
 *
 * Return: 0, or a negative errno.
 */
int cintio_log(struct cintio *dev, void **page, size_t *len,
               struct cintio_error *err);

/**
 * cintio_records() - have the controller keep interrupt status records, or not
 * @dev: the controller, which has no queues
 * @on: whether it shall (feature D1h)
 * @err: what went wrong, or NULL
 *
 * Then cintio_complete() under policy "cint" takes what an interrupt has told
 * of and what is Urgent, and leaves the rest for its own interrupt.
 *
 * Return: 0, or a negative errno. -EBUSY: there are queues.
 */
int cintio_records(struct cintio *dev, bool on, struct cintio_error *err);

/* --- namespaces --------------------------------------------------------- */

/**
 * cintio_namespaces() - which a controller has
 * @dev: the controller
 * @ids: identifiers of the active ones, the lowest first
 * @max: how many fit
 * @err: what went wrong, or NULL
 *
 * Return: how many there are, of which @ids has the first @max, and of which
 * the call sees 1024 at most; or a negative errno.
 */
int cintio_namespaces(struct cintio *dev, uint32_t *ids, unsigned int max,
                      struct cintio_error *err);

/**
 * cintio_namespace_open() - what a command has to know of a namespace
 * @dev: the controller
 * @nsid: its identifier
 * @ns: for struct cintio_io; stays as it is until cintio_close()
 * @err: what went wrong, or NULL
 *
 * Any queue may be used for any namespace.
 *
 * Return: 0, or a negative errno. -ENOENT: there is none; -ENOTSUP: with
 * metadata, or with blocks that no command can move.
 */
int cintio_namespace_open(struct cintio *dev, uint32_t nsid,
                          const struct cintio_namespace **ns,
                          struct cintio_error *err);

/* --- memory ------------------------------------------------------------- */

/**
 * cintio_alloc() - memory that the controller can reach
 * @dev: the controller
 * @len: bytes
 * @mem: the memory, zeroed, aligned to a page
 * @err: what went wrong, or NULL
 *
 * A child after fork() has it not.
 *
 * Return: 0, or a negative errno.
 */
int cintio_alloc(struct cintio *dev, size_t len, struct cintio_mem **mem,
                 struct cintio_error *err);

/**
 * cintio_map() - let the controller reach memory that the caller has
 * @dev: the controller, behind an IOMMU
 * @addr: aligned to a page
 * @len: bytes, whole pages
 * @mem: the memory
 * @err: what went wrong, or NULL
 *
 * Return: 0, or a negative errno.
 */
int cintio_map(struct cintio *dev, void *addr, size_t len,
               struct cintio_mem **mem, struct cintio_error *err);

/**
 * cintio_free() - give either back
 * @dev: the controller
 * @mem: NULL is none
 *
 * No command may use it any more. Those of a queue that was destroyed do not:
 * see there.
 */
void cintio_free(struct cintio *dev, struct cintio_mem *mem);

/**
 * cintio_mem_addr() - where it is
 * @mem: of cintio_alloc() or cintio_map()
 *
 * Return: its first byte.
 */
void *cintio_mem_addr(const struct cintio_mem *mem);

/**
 * cintio_mem_len() - how much it is
 * @mem: of cintio_alloc() or cintio_map()
 *
 * Return: bytes, as many as were asked for or more.
 */
size_t cintio_mem_len(const struct cintio_mem *mem);

/* --- queue pairs -------------------------------------------------------- */

/**
 * cintio_queue_create() - make a queue pair
 * @dev: the controller
 * @options: NULL: the usual ones
 * @queue: the queue pair
 * @err: what went wrong, or NULL
 *
 * Beside its rings a queue takes entries x max_transfer / 512 bytes for lists
 * of pages, all of it in memory that stays where it is; without an IOMMU a huge
 * page at least.
 *
 * Return: 0, or a negative errno. -ENOTSUP: the controller, or the policy, does
 * not know what the mode needs.
 */
int cintio_queue_create(struct cintio *dev,
                        const struct cintio_queue_options *options,
                        struct cintio_queue **queue, struct cintio_error *err);

/**
 * cintio_queue_destroy() - delete it
 * @queue: NULL is none
 *
 * Commands that are outstanding are given up. Where the controller does not
 * answer, the queue's memory and identifier, and what is given back to
 * cintio_free(), stay until it has and a queue is created, or until
 * cintio_reset() or cintio_close().
 */
void cintio_queue_destroy(struct cintio_queue *queue);

/**
 * cintio_queue_set_mode() - how completions are waited for from now on
 * @queue: the queue pair
 * @mode: CINTIO_COALESCED needs a controller with the interrupt pointer and a
 *        queue whose policy is "pointer"
 * @sleep_ns: of CINTIO_SLEEP
 * @err: what went wrong, or NULL
 *
 * The modes that sleep for a time set the calling thread's timer slack to 1 ns.
 *
 * Return: 0, or a negative errno.
 */
int cintio_queue_set_mode(struct cintio_queue *queue, enum cintio_mode mode,
                          uint64_t sleep_ns, struct cintio_error *err);

/**
 * cintio_queue_set_patience() - how a wait until an interrupt begins and ends
 * @queue: the queue pair
 * @spin_ns: to look for completions before the thread sleeps, where the last
 *           sleep was about as short; 0: not to
 * @gather_ns: CINTIO_COALESCED: to sleep on for, where more come by then at the
 *             rate of late, but for no more than an eighth of what is in
 *             flight; 0: to end with the last of those that are waited for
 *
 * Of cintio_complete() in the modes CINTIO_INTERRUPT and CINTIO_COALESCED. A
 * new queue has 0 and 10000: docs/userspace.md has what both were measured to
 * be worth.
 */
void cintio_queue_set_patience(struct cintio_queue *queue, uint64_t spin_ns,
                               uint64_t gather_ns);

/**
 * cintio_queue_set_policy() - when the controller interrupts from now on
 * @queue: the queue pair
 * @policy: its parameters stay; CINTIO_POLICY_OWN changes nothing
 * @err: what went wrong, or NULL
 *
 * A queue in mode CINTIO_COALESCED whose policy knows no pointer any more is in
 * mode CINTIO_INTERRUPT.
 *
 * Return: 0, or a negative errno.
 */
int cintio_queue_set_policy(struct cintio_queue *queue,
                            enum cintio_policy policy,
                            struct cintio_error *err);

/**
 * cintio_queue_id() - its identifier
 * @queue: the queue pair
 *
 * Return: of both queues, and of the interrupt vector.
 */
uint16_t cintio_queue_id(const struct cintio_queue *queue);

/**
 * cintio_queue_error() - a sentence about an error
 * @queue: the queue pair
 *
 * Return: what the last negative return value of a call on @queue was about.
 */
const char *cintio_queue_error(const struct cintio_queue *queue);

/**
 * cintio_queue_statistics() - what it has counted
 * @queue: the queue pair, whose thread calls
 * @statistics: with its size
 */
void cintio_queue_statistics(const struct cintio_queue *queue,
                             struct cintio_statistics *statistics);

/**
 * typedef cintio_interrupt_fn - called for interrupts
 * @opaque: as given
 * @n: how many the eventfd told of
 */
typedef void (*cintio_interrupt_fn)(void *opaque, uint64_t n);

/**
 * cintio_queue_on_interrupt() - have a function called for interrupts
 * @queue: the queue pair
 * @fn: called in cintio_complete() and cintio_queue_arm() by the thread that
 *      waits, when the eventfd was emptied, before completions are taken; NULL:
 *      none
 * @opaque: for @fn
 *
 * For those who count, or charge, interrupts where they come.
 */
void cintio_queue_on_interrupt(struct cintio_queue *queue,
                               cintio_interrupt_fn fn, void *opaque);

/**
 * cintio_outstanding() - commands that are not over
 * @queue: the queue pair
 *
 * Return: how many were pushed whose completions were not returned yet.
 */
unsigned int cintio_outstanding(const struct cintio_queue *queue);

/**
 * cintio_push() - put a command into the submission queue
 * @queue: the queue pair
 * @io: the command, not needed any more after the call; nor are @vec and @sqe
 *
 * The controller does not look at it before cintio_ring() or cintio_complete().
 *
 * Return: 0, or a negative errno. -EAGAIN: as many as fit are outstanding;
 * -EINVAL: cintio_queue_error() says what is wrong with it.
 */
int cintio_push(struct cintio_queue *queue, const struct cintio_io *io);

/**
 * cintio_ring() - tell the controller of what was pushed
 * @queue: the queue pair
 *
 * Return: 0, or a negative errno.
 */
int cintio_ring(struct cintio_queue *queue);

/**
 * cintio_complete() - wait for completions and take them
 * @queue: the queue pair
 * @done: room for @max
 * @min: to wait for; clamped to what is outstanding, so it may be UINT_MAX for
 *       "all"; 0: do not wait
 * @max: to take at most
 * @timeout_ns: to wait at most
 *
 * Rings what was pushed, and waits as the mode says. A signal does not end the
 * wait.
 *
 * Return: how many were taken, less than @min after @timeout_ns, after
 * cintio_queue_wake(), or if a command took longer than its own time; or a
 * negative errno if there are none and none will come. -ETIME: a command took
 * longer than its timeout_ns, see cintio_queue_overdue().
 */
int cintio_complete(struct cintio_queue *queue, struct cintio_done *done,
                    unsigned int min, unsigned int max, uint64_t timeout_ns);

/**
 * cintio_queue_overdue() - which command took too long
 * @queue: the queue pair
 *
 * It is outstanding as before, and its buffer the controller's. It may be
 * waited for, without a limit now, aborted, or ended by cintio_reset().
 *
 * Return: the cookie of the command that the last -ETIME was about.
 */
uint64_t cintio_queue_overdue(const struct cintio_queue *queue);

/**
 * cintio_abort() - ask the controller to give a command up
 * @queue: the queue pair, whose thread calls
 * @cookie: of the command; if several have it, of the oldest
 * @err: what went wrong, or NULL
 *
 * Rings what was pushed, and waits for the answer. A controller need not do it,
 * and many do not.
 *
 * Return: 1: it is aborted, and its completion comes with status 007h; 0: it
 * goes on, or has ended; or a negative errno, with which it may be aborted or
 * not. -ENOENT: none is outstanding; -EIO: the controller refused to.
 */
int cintio_abort(struct cintio_queue *queue, uint64_t cookie,
                 struct cintio_error *err);

/* --- waiting for more than one thing ------------------------------------ */

/**
 * cintio_queue_fd() - for poll(2), epoll and io_uring
 * @queue: the queue pair
 *
 * Readable once the queue has interrupted, was woken, or its controller was
 * reset. It stays the queue's, which empties it: whoever reads it takes
 * wake-ups away::
 *
 *     while ((n = cintio_complete(q, done, 0, max, 0)) >= 0) {
 *         ... take them, push others ...
 *         if (cintio_queue_arm(q, min) == 0) {
 *             ... sleep until the fd, or anything else, is readable ...
 *         }
 *     }
 *
 * Nothing is told of a controller that is gone, nor of a command's timeout_ns:
 * sleep for a second at most.
 *
 * Return: a file descriptor. -ENOTSUP: no interrupts.
 */
int cintio_queue_fd(struct cintio_queue *queue);

/**
 * cintio_queue_arm() - before sleeping on the fd
 * @queue: the queue pair, in mode CINTIO_INTERRUPT or CINTIO_COALESCED
 * @min: completions to be woken for; clamped as in cintio_complete(); 0 is 1
 *
 * Rings what was pushed, and asks for an interrupt once @min completions are
 * there, as cintio_complete() does in the modes CINTIO_INTERRUPT (at the next)
 * and CINTIO_COALESCED (at the last of them).
 *
 * Return: 0: sleep, then call cintio_complete(), which empties the fd. 1: there
 * is something already, or what woke the thread before was not taken yet: do
 * not sleep. -EINVAL: another mode.
 */
int cintio_queue_arm(struct cintio_queue *queue, unsigned int min);

/**
 * cintio_queue_wake() - end the wait of whoever waits
 * @queue: the queue pair, while it is not destroyed
 *
 * In the modes that sleep until an interrupt: the fd is readable, and
 * cintio_complete() returns what there is, 0 if there is nothing. If nobody
 * waits, the next wait that would sleep ends.
 *
 * Context: any thread.
 */
void cintio_queue_wake(struct cintio_queue *queue);

/**
 * DOC: Groups
 *
 * Many queues, of any controllers, and foreign file descriptors, by one thread.
 * A queue is in one group at most, and leaves it before it is destroyed.
 */
struct cintio_group;

/**
 * struct cintio_ready - what need not be waited for
 * @opaque: as given when it was added
 * @queue: NULL: a foreign fd
 * @fd: of the foreign one
 * @events: EPOLLIN and so on, of the foreign one
 * @result: 0, or the queue's error, negative
 * @reserved: 0
 */
struct cintio_ready {
    void *opaque;
    struct cintio_queue *queue;
    int fd;
    uint32_t events;
    int result;
    uint32_t reserved[3];
};

/**
 * cintio_group_create() - make a group
 * @group: the group, with nothing in it
 * @err: what went wrong, or NULL
 *
 * Return: 0, or a negative errno.
 */
int cintio_group_create(struct cintio_group **group, struct cintio_error *err);

/**
 * cintio_group_destroy() - end it
 * @group: what is in it leaves it; NULL is none
 */
void cintio_group_destroy(struct cintio_group *group);

/**
 * cintio_group_add() - wait for a queue, too
 * @group: the group
 * @queue: in mode CINTIO_INTERRUPT or CINTIO_COALESCED when it is waited for
 * @opaque: comes back in struct cintio_ready
 * @err: what went wrong, or NULL
 *
 * Return: 0, or a negative errno.
 */
int cintio_group_add(struct cintio_group *group, struct cintio_queue *queue,
                     void *opaque, struct cintio_error *err);

/**
 * cintio_group_remove() - no longer
 * @group: the group
 * @queue: in it, or not
 */
void cintio_group_remove(struct cintio_group *group,
                         struct cintio_queue *queue);

/**
 * cintio_group_add_fd() - wait for a foreign file descriptor, too
 * @group: the group
 * @fd: not a queue's
 * @events: those of epoll_ctl(2)
 * @opaque: comes back in struct cintio_ready
 * @err: what went wrong, or NULL
 *
 * Return: 0, or a negative errno.
 */
int cintio_group_add_fd(struct cintio_group *group, int fd, uint32_t events,
                        void *opaque, struct cintio_error *err);

/**
 * cintio_group_remove_fd() - no longer
 * @group: the group
 * @fd: in it, or not; removed before it is closed, or behind that, but before
 *      another file of that number is added
 */
void cintio_group_remove_fd(struct cintio_group *group, int fd);

/**
 * cintio_group_wait() - wait for all of them
 * @group: the group
 * @min: completions that each queue is armed for
 * @ready: what is ready
 * @max: room in @ready; where more are ready, the next call begins with those
 * @timeout_ns: to wait at most
 * @err: what went wrong, or NULL
 *
 * Arms the queues, and sleeps until one of them or a foreign fd is ready,
 * cintio_group_wake() is called, or the time has passed. For a queue that is
 * ready call cintio_complete() with a min of 0: until then it is ready. A
 * signal does not end the wait.
 *
 * Return: how many of @ready are set, at most @max; 0 after a wake-up or the
 * time; or a negative errno. -EINVAL: @max is 0.
 */
int cintio_group_wait(struct cintio_group *group, unsigned int min,
                      struct cintio_ready *ready, unsigned int max,
                      uint64_t timeout_ns, struct cintio_error *err);

/**
 * cintio_group_wake() - end the wait of whoever waits
 * @group: the group
 *
 * If nobody waits, the next wait ends at once.
 *
 * Context: any thread.
 */
void cintio_group_wake(struct cintio_group *group);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
