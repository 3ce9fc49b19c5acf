/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The replay program and the simulation of these tests drive the same engine:
 * on random timelines, written as text for the one and played to the other,
 * they send the same interrupts.
 */
#include <glib/gstdio.h>
#include <inttypes.h>

#include "random.h"
#include "sim.h"

#define TIMELINES   60
#define EVENTS      200
#define SQS         3
#define MAX_FLYING  40
#define CQ_SIZE     64

typedef struct Timeline {
    Sim sim;
    CintConfig config;
    GString *text;
    int64_t now;
    unsigned next_cid[SQS];     /* of the next command */
    unsigned oldest[SQS];       /* in flight */
} Timeline;

static unsigned flying(const Timeline *line, unsigned sq)
{
    return line->next_cid[sq] - line->oldest[sq];
}

/* Event names a command by its queue and a number that wraps as theirs do. */
static void note(Timeline *line, const char *event, unsigned sq, unsigned cid)
{
    g_string_append_printf(line->text, "%s %" PRId64 " %u %u\n", event,
                           line->now, sq, cid % 65536);
}

static void submit(Timeline *line, unsigned sq)
{
    unsigned i, n = pick(1, 8);

    for (i = 0; i < n; i++) {
        note(line, "submit", sq, line->next_cid[sq]++);
    }
    g_string_append_printf(line->text, "doorbell %" PRId64 " %u\n", line->now,
                           sq);
    sim_submit(&line->sim, sq, line->now, n);
}

static void complete(Timeline *line, unsigned sq)
{
    unsigned i, n = pick(1, MIN(flying(line, sq), 4));

    for (i = 0; i < n; i++) {
        note(line, "complete", sq, line->oldest[sq]++);
    }
    sim_pass(&line->sim, sq, line->now, n);
}

static void end_one(Timeline *line, unsigned sq)
{
    bool fails = one_in(2);

    note(line, fails ? "complete" : "cancel", sq, line->oldest[sq]++);
    if (fails) {
        g_string_truncate(line->text, line->text->len - 1);
        g_string_append(line->text, " error\n");
        sim_fail(&line->sim, sq, line->now);
    } else {
        sim_cancel(&line->sim, sq, line->now);
    }
}

static void change(Timeline *line)
{
    line->config.delta_ns = PICK_OF(1, 300, 6000);
    g_string_append_printf(line->text, "set %" PRId64 " delta=%" PRIu64 "\n",
                           line->now, line->config.delta_ns);
    sim_configure(&line->sim, line->now, &line->config);
}

/* Never two in one instant: that would be one pass for the program. */
static void event(Timeline *line)
{
    unsigned sq = pick(0, SQS - 1);

    line->now += PICK_OF(1, 2, 50, 300, 600, 6000, 30000);
    if (!flying(line, sq) || (flying(line, sq) < MAX_FLYING && one_in(3))) {
        submit(line, sq);
    } else if (one_in(12)) {
        end_one(line, sq);
    } else if (one_in(20)) {
        change(line);
    } else {
        complete(line, sq);
    }
}

/* "14000:quiet(3) 21500:thr(4)", as the simulation has it. */
static char *program_reasons(const char *output)
{
    g_auto(GStrv) lines = g_strsplit(output, "\n", -1);
    GString *text = g_string_new(NULL);
    unsigned i;

    for (i = 0; lines[i]; i++) {
        g_auto(GStrv) word = g_strsplit(lines[i], " ", -1);

        if (!strcmp(lines[i], "") || strcmp(word[0], "irq")) {
            continue;
        }
        g_assert_cmpuint(g_strv_length(word), ==, 5);
        g_string_append_printf(text, "%s%s%s:%s(%s)", text->len ? " " : "",
                               strcmp(word[2], "urgent") ? "" : "U", word[1],
                               word[3], word[4]);
    }
    return g_string_free(text, FALSE);
}

/* Everything the engine can be set to, given as it stands. */
static void add_config(GPtrArray *args, const CintConfig *initial)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_auto(GStrv) pair = NULL;
    unsigned i;

    describe_config(text, *initial);
    pair = g_strsplit(text->str + 1, " ", -1);
    for (i = 0; pair[i]; i++) {
        g_autofree char *name = g_strdup(pair[i]);
        char *value = strchr(name, '=');

        *value++ = '\0';
        if (!strcmp(name, "policy")) {
            g_ptr_array_add(args, g_strdup("--policy"));
            g_ptr_array_add(args, g_strdup(value));
            continue;
        }
        g_ptr_array_add(args, g_strdup("--set"));
        /* The table has numbers for these, and words are typed. */
        if (!strcmp(name, "each-cqe") || !strcmp(name, "ooo") ||
            !strcmp(name, "tune")) {
            value = *value == '1' ? (char *)"on" : (char *)"off";
        }
        g_ptr_array_add(args, g_strdup_printf("%s=%s", name, value));
    }
}

static char *program_output(const char *text, const CintConfig *initial)
{
    g_autoptr(GPtrArray) args = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *path = NULL, *errors = NULL;
    g_autoptr(GError) error = NULL;
    char *output;
    int status, fd = g_file_open_tmp("cint-replay-XXXXXX", &path, &error);

    g_assert_no_error(error);
    g_close(fd, NULL);
    g_file_set_contents(path, text, -1, &error);
    g_assert_no_error(error);
    g_ptr_array_add(args, g_strdup(CINT_REPLAY));
    g_ptr_array_add(args, g_strdup("--record"));
    g_ptr_array_add(args, g_strdup("off"));
    g_ptr_array_add(args, g_strdup_printf("--cq-size=%d", CQ_SIZE));
    add_config(args, initial);
    g_ptr_array_add(args, g_strdup(path));
    g_ptr_array_add(args, NULL);
    g_spawn_sync(NULL, (char **)args->pdata, NULL, G_SPAWN_DEFAULT, NULL, NULL,
                 &output, &errors, &status, &error);
    g_remove(path);
    g_assert_no_error(error);
    g_assert_cmpstr(errors, ==, "");
    g_assert_cmpint(status, ==, 0);
    return output;
}

/*
 * No hints are given here, so they had better be inferred. With a delta of 0
 * the program and the device expire it between the CQEs of one pass, which the
 * simulation posts without looking at the deadline.
 */
static CintConfig inferring_config(int policy)
{
    /* Pointer cannot do without max-hold, nor can vic. */
    CintConfig config = random_config(policy == NVME_CINT_POLICY_POINTER ?
                                      NVME_CINT_POLICY_VIC : policy);

    config.policy = policy;
    config.delta_ns = MAX(config.delta_ns, 1);
    config.infer = pick(CINT_INFER_OFF, CINT_INFER_ALL);
    config.barrier = pick(CINT_BARRIER_RELAXED, CINT_BARRIER_GENERATION);
    config.max_irq_rate = PICK_OF(0, 0, 20000, 300000);
    config.ewma_shift = pick(1, 8);
    config.storm = CINT_STORM_HOLD;
    return config;
}

static void play(int policy)
{
    Timeline *line = g_new0(Timeline, 1);
    CintConfig initial = inferring_config(policy);
    g_autofree char *output = NULL, *got = NULL, *want = NULL;
    unsigned i;

    line->config = initial;
    line->text = g_string_new(NULL);
    sim_init(&line->sim, CQ_SIZE, &initial);
    for (i = 0; i < EVENTS; i++) {
        event(line);
    }
    sim_run_out(&line->sim);
    output = program_output(line->text->str, &initial);
    got = program_reasons(output);
    want = sim_reasons(&line->sim);
    if (strcmp(got, want)) {
        g_test_message("of the timeline %s", line->text->str);
    }
    sim_same("the replay's list of interrupts", got, want);
    g_string_free(line->text, true);
    g_free(line);
}

static void test_policy(gconstpointer policy)
{
    unsigned i;

    for (i = 0; i < TIMELINES; i++) {
        play(GPOINTER_TO_INT(policy));
    }
}

int main(int argc, char **argv)
{
    unsigned i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < CINT_NR_POLICIES; i++) {
        g_autofree char *path = g_strdup_printf("/replay/same-as-simulated/%s",
                                                cint_policy_names[i]);

        g_test_add_data_func(path, GINT_TO_POINTER(i), test_policy);
    }
    return g_test_run();
}
