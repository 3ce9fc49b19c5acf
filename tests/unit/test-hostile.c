/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Unit tests of what a controller must not do, and a program by mistake: what
 * the user-space driver makes of it is an error with a sentence, or nothing,
 * but no access to memory that is not its own. Run under AddressSanitizer this
 * says most.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fake-nvme.h"

static struct cintio_error err;

static FakeNvme *started(void)
{
    FakeNvme *fake = fake_new();

    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    return fake;
}

static struct cintio_queue *queue_of(FakeNvme *fake, enum cintio_mode mode,
                                     uint16_t entries)
{
    struct cintio_queue_options how = {
        .size = sizeof(how), .mode = mode, .entries = entries,
    };
    struct cintio_queue *q = NULL;

    g_assert_cmpint(cintio_queue_create(fake->dev, &how, &q, &err), ==, 0);
    return q;
}

static void push(struct cintio_queue *q, unsigned n)
{
    while (n--) {
        g_assert_cmpint(cintio_push(q, &(struct cintio_io) {
            .op = CINTIO_FLUSH }), ==, 0);
    }
}

/* --- the controller ------------------------------------------------------ */

/* Registers that begin where the mapping ends, and all at one place. */
static void test_pointers_nowhere(void)
{
    FakeNvme *fake = fake_new();

    fake->pointers_at = FAKE_BAR_SIZE;
    fake->pointer_stride = 0;
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    g_assert_false(cintio_info(fake->dev)->cint_caps & NVME_CINT_CAP_POINTER);
    fake_free(fake);

    fake = fake_new();
    fake->pointers_at = FAKE_BAR_SIZE - 4 * (FAKE_QUEUES + 1);
    g_assert_cmpint(fake_start(fake, NULL, &err), ==, 0);
    g_assert_true(cintio_info(fake->dev)->cint_caps & NVME_CINT_CAP_POINTER);
    fake_free(fake);
}

/* A queue comes between two pieces of the page: its header is of all of it. */
static void test_log_grows(void)
{
    FakeNvme *fake = started();
    NvmeCintLogHeader *head;
    void *page = NULL;
    size_t len = 0;

    fake->log_grows = 1;
    g_assert_cmpint(cintio_log(fake->dev, &page, &len, &err), ==, 0);
    head = page;
    g_assert_cmpuint(head->header_size + head->records * head->record_size +
                     head->sq_records * head->sq_record_size, ==, len);
    g_assert_cmpuint(head->records, ==, FAKE_QUEUES + 1);
    free(page);
    /* each time anew */
    fake->log_grows = 1000;
    g_assert_cmpint(cintio_log(fake->dev, &page, &len, &err), ==, -EIO);
    expect_text(err.text, "makes no sense");
    fake_free(fake);
}

/* --- entries and records of any content ---------------------------------- */

typedef struct Wild {
    FakeNvme *fake;
    struct cintio_queue *q;
    struct cintio_group *group;
    GRand *rand;
    bool out[FAKE_ENTRIES];     /* by cookie */
} Wild;

static void scribble(Wild *w, void *at, size_t len)
{
    uint8_t *bytes = at;

    while (g_rand_int_range(w->rand, 0, 8)) {
        bytes[g_rand_int_range(w->rand, 0, len)] = g_rand_int(w->rand);
    }
}

/* A cookie comes back at most once, and only if it was given. */
static void take(Wild *w, const struct cintio_done *done, int n)
{
    for (int i = 0; i < n; i++) {
        g_assert_cmpuint(done[i].cookie, <, FAKE_ENTRIES);
        g_assert_true(w->out[done[i].cookie]);
        w->out[done[i].cookie] = false;
    }
}

static void push_some(Wild *w)
{
    for (unsigned i = 0; i < FAKE_ENTRIES; i++) {
        struct cintio_io io = {
            .op = CINTIO_FLUSH, .cookie = i,
            .hints = g_rand_int_range(w->rand, 0, 4),
            .timeout_ns = g_rand_int_range(w->rand, 0, 2),
        };

        if (!w->out[i] && g_rand_boolean(w->rand) && !cintio_push(w->q, &io)) {
            w->out[i] = true;
        }
    }
}

static void step(Wild *w)
{
    static const unsigned int some[] = { 0, 1, 2, 5, 1000, UINT_MAX };
    unsigned int min = some[g_rand_int_range(w->rand, 0, 6)];
    unsigned int max = g_rand_int_range(w->rand, 0, 2 * FAKE_ENTRIES);
    struct cintio_done done[2 * FAKE_ENTRIES];
    struct cintio_ready ready[2];

    switch (g_rand_int_range(w->rand, 0, 5)) {
    case 0:
        push_some(w);
        break;
    case 1:
        scribble(w, w->q->cq, w->q->entries * sizeof(*w->q->cq));
        break;
    case 2:
        scribble(w, w->q->record, sizeof(*w->q->record));
        cintio_queue_wake(w->q);
        break;
    case 3:
        cintio_queue_arm(w->q, min);
        cintio_group_wait(w->group, min, ready, 2, 0, &err);
        break;
    default:
        take(w, done, cintio_complete(w->q, done, min, max, 0));
        g_assert_cmpuint(cintio_outstanding(w->q), <, w->q->entries);
    }
}

/* All go by its words; what it cannot say is a command that nobody gave. */
static void test_wild(gconstpointer mode)
{
    for (unsigned seed = 0; seed < 60; seed++) {
        Wild w = { .fake = started(), .rand = g_rand_new_with_seed(seed) };

        g_assert_cmpint(cintio_records(w.fake->dev, true, &err), ==, 0);
        w.q = queue_of(w.fake, GPOINTER_TO_INT(mode), 2 + seed);
        g_assert_cmpint(cintio_group_create(&w.group, &err), ==, 0);
        g_assert_cmpint(cintio_group_add(w.group, w.q, NULL, &err), ==, 0);
        /* where the controller's head is by then is nobody's business */
        w.fake->careless = true;
        for (unsigned i = 0; i < 400; i++) {
            step(&w);
        }
        cintio_group_destroy(w.group);
        cintio_queue_destroy(w.q);
        fake_free(w.fake);
        g_rand_free(w.rand);
    }
}

/* --- the program --------------------------------------------------------- */

/* Closed while a copy of it is open: epoll goes on with the file. */
static void test_closed_fd(void)
{
    struct cintio_group *group;
    struct cintio_ready ready[4];
    int fd = eventfd(1, 0), other = eventfd(0, 0), copy = dup(fd), name;

    g_assert_cmpint(cintio_group_create(&group, &err), ==, 0);
    g_assert_cmpint(cintio_group_add_fd(group, fd, POLLIN, &fd, &err), ==, 0);
    g_assert_cmpint(cintio_group_add_fd(group, other, POLLIN, &name, &err), ==,
                    0);
    close(fd);
    cintio_group_remove_fd(group, fd);
    g_assert_cmpint(cintio_group_wait(group, 1, ready, 4, 0, &err), ==, 0);
    /* the others are in it as before */
    eventfd_write(other, 1);
    g_assert_cmpint(cintio_group_wait(group, 1, ready, 4, 0, &err), ==, 1);
    g_assert_true(ready[0].opaque == &name && ready[0].fd == other);
    cintio_group_remove_fd(group, other);
    cintio_group_wake(group);
    g_assert_cmpint(cintio_group_wait(group, 1, ready, 4, CINTIO_FOREVER, &err),
                    ==, 0);
    cintio_group_destroy(group);
    close(copy);
    close(other);
}

/* What an interrupt was for is told until somebody looks: an error comes. */
static void test_no_room_for_it(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q[2];
    struct cintio_group *group;
    struct cintio_ready ready[2];
    struct cintio_done done[8];

    g_assert_cmpint(cintio_group_create(&group, &err), ==, 0);
    for (unsigned i = 0; i < 2; i++) {
        q[i] = queue_of(fake, CINTIO_COALESCED, 16);
        g_assert_cmpint(cintio_group_add(group, q[i], NULL, &err), ==, 0);
        push(q[i], 4);
    }
    g_assert_cmpint(cintio_group_wait(group, 4, ready, 2, 0, &err), ==, 0);
    fake_complete(fake, 1, 0, 0x281);
    fake_complete(fake, 2, 0, 0x281);
    /* there is room for the one that was added last */
    g_assert_cmpint(cintio_group_wait(group, 4, ready, 1, 0, &err), ==, 1);
    g_assert_true(ready[0].queue == q[1]);
    g_assert_cmpint(cintio_complete(q[1], done, 0, 8, 0), ==, 1);
    g_assert_cmpint(cintio_group_wait(group, 4, ready, 1, 0, &err), ==, 1);
    g_assert_true(ready[0].queue == q[0]);
    /* nor is it taken away by who asks again */
    g_assert_cmpint(cintio_queue_arm(q[0], 4), ==, 1);
    g_assert_cmpint(cintio_complete(q[0], done, 0, 8, 0), ==, 1);
    g_assert_cmpint(done[0].status, ==, 0x281);
    /* what comes behind that is not it */
    fake_complete(fake, 1, 0, 0);
    g_assert_cmpint(cintio_queue_arm(q[0], 3), ==, 0);
    cintio_queue_wake(q[0]);
    g_assert_cmpint(cintio_queue_arm(q[0], 3), ==, 1);
    cintio_group_destroy(group);
    for (unsigned i = 0; i < 2; i++) {
        cintio_queue_destroy(q[i]);
    }
    fake_free(fake);
}

static void refused(struct cintio_queue *q, struct cintio_io io,
                    const char *part)
{
    g_assert_cmpint(cintio_push(q, &io), ==, -EINVAL);
    expect_text(cintio_queue_error(q), part);
}

/* An address of one controller is another thing to another one. */
static void test_foreign_memory(void)
{
    FakeNvme *fake = started(), *other = started();
    struct cintio_queue *q = queue_of(fake, CINTIO_POLL, 8);
    struct cintio_mem *mem;
    struct cintio_vec vec;

    g_assert_cmpint(cintio_alloc(other->dev, NVME_PAGE, &mem, &err), ==, 0);
    refused(q, (struct cintio_io) { .op = CINTIO_READ, .blocks = 1,
            .mem = mem, .buf = mem->addr }, "memory of another controller");
    vec = (struct cintio_vec) { mem, mem->addr, FAKE_BLOCK };
    refused(q, (struct cintio_io) { .op = CINTIO_READ, .blocks = 1,
            .vec = &vec, .nr_vecs = 1 }, "memory of another controller");
    cintio_free(other->dev, mem);
    cintio_queue_destroy(q);
    fake_free(fake);
    fake_free(other);
}

static void test_bad_io(void)
{
    FakeNvme *fake = started();
    struct cintio_queue *q = queue_of(fake, CINTIO_POLL, 8);

    refused(q, (struct cintio_io) { .op = CINTIO_READ, .blocks = 1,
            .nr_vecs = 2 }, "pieces without a vec");
    refused(q, (struct cintio_io) { .op = CINTIO_RAW, .sqe = &err,
            .nr_vecs = 2 }, "pieces without a vec");
    refused(q, (struct cintio_io) { .op = CINTIO_FLUSH, .hints = 4 },
            "hints 4");
    cintio_queue_destroy(q);
    fake_free(fake);
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {
        "poll", "sleep", "adaptive", "interrupt", "coalesced",
    };

    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hostile/controller/pointers-nowhere",
                    test_pointers_nowhere);
    g_test_add_func("/hostile/controller/log-grows", test_log_grows);
    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
        g_autofree char *name =
            g_strdup_printf("/hostile/controller/wild/%s", modes[i]);

        g_test_add_data_func(name, GINT_TO_POINTER((int)i), test_wild);
    }
    g_test_add_func("/hostile/program/closed-fd", test_closed_fd);
    g_test_add_func("/hostile/program/no-room-for-it", test_no_room_for_it);
    g_test_add_func("/hostile/program/foreign-memory", test_foreign_memory);
    g_test_add_func("/hostile/program/bad-io", test_bad_io);
    return g_test_run();
}
