/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A device and a guest around one completion queue, for the engine's tests.
 */
#include <inttypes.h>

#include "sim.h"

CintConfig sim_config(CintPolicy policy)
{
    CintConfig config;

    cint_config_init(&config);
    config.policy = policy;
    config.drain = CINT_OFF;
    config.max_hold_ns = 0;
    return config;
}

CintConfig sim_adaptive(uint64_t delta_ns, uint64_t thr)
{
    CintConfig config = sim_config(NVME_CINT_POLICY_ADAPTIVE);

    config.delta_ns = delta_ns;
    config.thr = thr;
    return config;
}

CintConfig sim_static(uint64_t time_ns, uint64_t thr)
{
    CintConfig config = sim_config(NVME_CINT_POLICY_STATIC);

    config.static_time_ns = time_ns;
    config.static_thr = thr;
    return config;
}

CintConfig sim_cint(uint64_t delta_ns, uint64_t thr)
{
    CintConfig config = sim_config(NVME_CINT_POLICY_CINT);

    config.delta_ns = delta_ns;
    config.thr = thr;
    return config;
}

CintConfig sim_vic(void)
{
    CintConfig config = sim_config(NVME_CINT_POLICY_VIC);

    config.epoch_ms = 60000;
    return config;
}

void sim_init(Sim *sim, uint32_t size, const CintConfig *config)
{
    unsigned i;

    memset(sim, 0, sizeof(*sim));
    cint_scope_init(&sim->scope);
    cint_cq_init(&sim->cq, &sim->scope, size, config);
    for (i = 0; i < SIM_SQS; i++) {
        cint_sq_init(&sim->sq[i], &sim->cq);
    }
}

Sim *sim_new(uint32_t size, CintConfig config)
{
    Sim *sim = g_new(Sim, 1);

    sim_init(sim, size, &config);
    return sim;
}

Sim *sim_new_lazy(uint32_t size, CintConfig config)
{
    Sim *sim = sim_new(size, config);

    sim->lazy = true;
    return sim;
}

void sim_start_at(Sim *sim, uint32_t index)
{
    g_assert_cmpuint(sim->cq.tail, ==, 0);
    sim->cq.tail = index;
    sim->cq.head = index;
}

void sim_join(Sim *sim, Sim *other)
{
    g_assert_cmpuint(sim->scope.inflight, ==, 0);
    sim->cq.scope = &other->scope;
}

void sim_force_ratio(Sim *sim, uint32_t up, uint32_t skip)
{
    sim->cq.scope->vic.up = sim->cq.vic.epoch.up = up;
    sim->cq.scope->vic.skip = sim->cq.vic.epoch.skip = skip;
}

char *sim_ratio(const CintVicEpoch *epoch)
{
    return g_strdup_printf("%" PRIu32 "/%" PRIu32, epoch->up, epoch->skip);
}

static SimCqe *cqe_at(Sim *sim, uint32_t index)
{
    return &sim->cqe[index % SIM_CQES];
}

/* What the driver does in its handler, by the rule of the status records. */
static void reap_by_record(Sim *sim)
{
    uint32_t i, head = sim->cq.head;

    for (i = sim->cq.head; i != sim->cq.tail; i++) {
        if ((int32_t)(sim->full_tail - i) > 0 || cqe_at(sim, i)->urgent) {
            cqe_at(sim, i)->reaped = true;
        }
    }
    while (head != sim->cq.tail && cqe_at(sim, head)->reaped) {
        head++;
    }
    if (head != sim->cq.head) {
        sim_head(sim, sim->now, head);
    }
}

static void guest_handles(Sim *sim)
{
    if (sim->cq.has_record) {
        reap_by_record(sim);
    } else {
        sim_head(sim, sim->now, sim->cq.tail);
    }
}

/* What the device and the guest do about an answer of the engine. */
static void act(Sim *sim, CintAction action)
{
    SimIrq *irq = &sim->irq[sim->nr_irqs];

    if (action.fire == CINT_FIRE_NONE) {
        return;
    }
    /* A guest that could not tell it from a full one would not be safe. */
    g_assert_true(action.fire == CINT_FIRE_FULL || sim->cq.has_record);
    if (action.fire == CINT_FIRE_FULL) {
        sim->full_tail = sim->cq.tail;
    }
    g_assert_cmpuint(sim->nr_irqs, <, SIM_IRQS);
    *irq = (SimIrq) {
        .t = sim->now,
        .fire = action.fire,
        .reason = action.reason,
        .covered = action.covered,
    };
    sim->nr_irqs++;
    if (!sim->lazy) {
        guest_handles(sim);
    }
}

void sim_timer(Sim *sim, int64_t t)
{
    sim->now = t;
    act(sim, cint_timer(&sim->cq, t));
}

void sim_until(Sim *sim, int64_t t)
{
    int64_t due;

    g_assert_cmpint(t, <, CINT_NO_DEADLINE);
    while ((due = cint_deadline(&sim->cq)) <= t) {
        /* A deadline in the past would have been missed, not kept. */
        g_assert_cmpint(due, >=, sim->now);
        sim_timer(sim, due);
        /* Else a real timer would be armed again and again. */
        g_assert_cmpint(cint_deadline(&sim->cq), >, due);
    }
    g_assert_cmpint(t, >=, sim->now);
    sim->now = t;
}

void sim_run_out(Sim *sim)
{
    int64_t due;

    while ((due = cint_deadline(&sim->cq)) != CINT_NO_DEADLINE) {
        sim_until(sim, due);
        g_assert_cmpint(cint_deadline(&sim->cq), !=, due);
    }
}

static void fetch(Sim *sim, unsigned sq, char mark)
{
    static const struct {
        char mark;
        uint8_t hints, sources;
    } marks[] = {
        { 'U', NVME_CINT_HINT_URGENT, 1 << NVME_CINT_SOURCE_CDW0 },
        { 'B', NVME_CINT_HINT_BARRIER, 1 << NVME_CINT_SOURCE_CDW0 },
        { '2', NVME_CINT_HINT_BOTH, 1 << NVME_CINT_SOURCE_CDW0 },
        { 'u', NVME_CINT_HINT_URGENT, 1 << NVME_CINT_SOURCE_CDW13 },
        { 'b', NVME_CINT_HINT_BARRIER, 1 << NVME_CINT_SOURCE_CDW13 },
        { 'X', NVME_CINT_HINT_URGENT, 1 << NVME_CINT_SOURCE_CDW0 |
                                      1 << NVME_CINT_SOURCE_CDW13 },
        { 0 },
    };
    unsigned n = sim->submitted[sq]++ % SIM_CMDS, i = 0;

    while (marks[i].mark && marks[i].mark != mark) {
        i++;
    }
    sim->mark[sq][n] = mark;
    sim->cmd[sq][n].page = sim->page;
    act(sim, cint_submit(&sim->sq[sq], &sim->cmd[sq][n], sim->now,
                         marks[i].hints, marks[i].sources));
}

void sim_publish(Sim *sim, unsigned sq, int64_t t, unsigned n)
{
    sim_until(sim, t);
    act(sim, cint_published(&sim->sq[sq], t, n));
}

void sim_submit(Sim *sim, unsigned sq, int64_t t, unsigned n)
{
    sim_until(sim, t);
    while (n--) {
        g_assert_cmpuint(sim->submitted[sq] - sim->retired[sq], <, SIM_CMDS);
        fetch(sim, sq, 0);
    }
    act(sim, cint_doorbell(&sim->sq[sq], t));
}

void sim_batch(Sim *sim, unsigned sq, int64_t t, const char *marks)
{
    sim_until(sim, t);
    for (; *marks; marks++) {
        fetch(sim, sq, *marks);
    }
    act(sim, cint_doorbell(&sim->sq[sq], t));
}

/* Number of the oldest command of @sq, which leaves it. */
static unsigned oldest(Sim *sim, unsigned sq)
{
    g_assert_cmpuint(sim->submitted[sq], !=, sim->retired[sq]);
    return sim->retired[sq]++ % SIM_CMDS;
}

static void post(Sim *sim, unsigned sq, unsigned n, bool error)
{
    char mark = sim->mark[sq][n];

    g_assert_true(!sim->cq.has_record ||
                  sim->cq.tail - sim->cq.head < SIM_CQES);
    *cqe_at(sim, sim->cq.tail) = (SimCqe) {
        .urgent = mark == 'U' || mark == 'X',
    };
    act(sim, cint_complete(&sim->sq[sq], &sim->cmd[sq][n], sim->now, error));
}

void sim_post(Sim *sim, unsigned sq, int64_t t, unsigned n)
{
    sim_until(sim, t);
    post(sim, sq, n - 1, false);
    act(sim, cint_pass_end(&sim->cq, t));
}

void sim_drop(Sim *sim, unsigned sq, int64_t t, unsigned n)
{
    sim_until(sim, t);
    act(sim, cint_cancel(&sim->sq[sq], &sim->cmd[sq][n - 1], t));
}

void sim_marked(Sim *sim, int64_t t, char mark)
{
    char marks[] = { mark, 0 };

    sim_batch(sim, 0, sim->now, marks);
    sim_pass(sim, 0, t, 1);
}

void sim_pass(Sim *sim, unsigned sq, int64_t t, unsigned n)
{
    sim_until(sim, t);
    while (n--) {
        post(sim, sq, oldest(sim, sq), false);
    }
    act(sim, cint_pass_end(&sim->cq, t));
}

void sim_io(Sim *sim, int64_t t)
{
    sim_submit(sim, 0, sim->now, 1);
    sim_pass(sim, 0, t, 1);
}

void sim_ios(Sim *sim, int64_t t, int64_t step, unsigned n)
{
    for (; n; n--, t += step) {
        sim_io(sim, t);
    }
}

void sim_complete(Sim *sim, unsigned sq, int64_t t)
{
    sim_pass(sim, sq, t, 1);
}

void sim_fail(Sim *sim, unsigned sq, int64_t t)
{
    sim_until(sim, t);
    post(sim, sq, oldest(sim, sq), true);
    act(sim, cint_pass_end(&sim->cq, t));
}

void sim_cancel(Sim *sim, unsigned sq, int64_t t)
{
    sim_until(sim, t);
    act(sim, cint_cancel(&sim->sq[sq], &sim->cmd[sq][oldest(sim, sq)], t));
}

void sim_delete_sq(Sim *sim, unsigned sq, int64_t t)
{
    sim_until(sim, t);
    sim->retired[sq] = sim->submitted[sq];
    act(sim, cint_delete_sq(&sim->sq[sq], t));
}

void sim_configure(Sim *sim, int64_t t, const CintConfig *config)
{
    sim_until(sim, t);
    act(sim, cint_configure(&sim->cq, t, config));
}

void sim_disable(Sim *sim, int64_t t, bool disabled)
{
    sim_until(sim, t);
    act(sim, cint_disable(&sim->cq, t, disabled));
}

void sim_head(Sim *sim, int64_t t, uint32_t head)
{
    if (t != sim->now) {
        sim_until(sim, t);
    }
    sim->move[sim->nr_moves++ % SIM_MOVES] = (SimMove) {
        .t = t,
        .n = head - sim->cq.head,
    };
    act(sim, cint_head(&sim->cq, t, head));
}

void sim_reap(Sim *sim, int64_t t, uint32_t n)
{
    sim_until(sim, t);
    sim_head(sim, t, sim->cq.head + n);
}

void sim_records(Sim *sim, int64_t t, bool on)
{
    sim_until(sim, t);
    act(sim, cint_set_record(&sim->cq, t, on));
    sim->full_tail = sim->cq.tail;
}

void sim_pointer(Sim *sim, int64_t t, uint32_t target)
{
    sim_until(sim, t);
    act(sim, cint_pointer(&sim->cq, t, target));
}

void sim_pointer_off(Sim *sim, int64_t t)
{
    sim_until(sim, t);
    act(sim, cint_pointer_off(&sim->cq, t));
}

char *sim_moves(const Sim *sim)
{
    GString *text = g_string_new(NULL);
    unsigned i;

    g_assert_cmpuint(sim->nr_moves, <=, SIM_MOVES);
    for (i = 0; i < sim->nr_moves; i++) {
        g_string_append_printf(text, "%s%" PRId64 "+%" PRIu32, i ? " " : "",
                               sim->move[i].t, sim->move[i].n);
    }
    return g_string_free(text, FALSE);
}

static char *list_irqs(const Sim *sim, bool reasons)
{
    GString *text = g_string_new(NULL);
    unsigned i;

    for (i = 0; i < sim->nr_irqs; i++) {
        const SimIrq *irq = &sim->irq[i];

        g_string_append_printf(text, "%s%s%" PRId64, i ? " " : "",
                               irq->fire == CINT_FIRE_URGENT ? "U" : "",
                               irq->t);
        if (reasons) {
            g_string_append_printf(text, ":%s", cint_reason_name(irq->reason));
        }
        g_string_append_printf(text, "(%" PRIu32 ")", irq->covered);
    }
    return g_string_free(text, FALSE);
}

char *sim_irqs(const Sim *sim)
{
    return list_irqs(sim, false);
}

char *sim_reasons(const Sim *sim)
{
    return list_irqs(sim, true);
}

void sim_same_at(const char *what, const char *got, const char *want,
                 const char *file, int line, const char *func)
{
    char *message;

    if (!strcmp(got, want)) {
        return;
    }
    message = g_strdup_printf("%s differs\n"
                              "#   expected: %s\n"
                              "#   got:      %s",
                              what, *want ? want : "(no interrupt)",
                              *got ? got : "(no interrupt)");
    g_assertion_message(G_LOG_DOMAIN, file, line, func, message);
}

void sim_expect_at(Sim *sim, const char *want, const char *file, int line,
                   const char *func)
{
    char *got = sim_reasons(sim);

    sim_same_at("the engine's list of interrupts", got, want, file, line,
                func);
    g_free(got);
    sim->nr_irqs = 0;
}
