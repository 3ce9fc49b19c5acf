/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What is printed: interrupts as they come, and the summary, as text or as
 * one JSON object a line.
 *
 * Under some policies every other event prints a line; so the line is put
 * together by hand.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "print.h"

static const char *const class_names[] = {
    [CINT_FIRE_FULL]    = "full",
    [CINT_FIRE_URGENT]  = "urgent",
};

static const char *const hint_names[NVME_CINT_NR_HINTS] = {
    [NVME_CINT_HINT_NONE]       = "unmarked",
    [NVME_CINT_HINT_URGENT]     = "urgent",
    [NVME_CINT_HINT_BARRIER]    = "barrier",
    [NVME_CINT_HINT_BOTH]       = "both",
};

static void put(const char *text)
{
    print_text(text, strlen(text));
}

static void put_number(uint64_t value)
{
    char digits[20];
    unsigned at = sizeof(digits);

    do {
        digits[--at] = '0' + value % 10;
        value /= 10;
    } while (value);
    print_text(digits + at, sizeof(digits) - at);
}

static G_GNUC_PRINTF(1, 2) void putf(const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    put(text);
}

/*
 * Times: FILE's, divided by the scale of what is typed and printed
 */

static double reported(const Replay *replay, double ns)
{
    return ns / replay->setup->scale;
}

static uint64_t whole(const Replay *replay, uint64_t ns)
{
    double scale = replay->setup->scale;

    return scale == 1 ? ns : (uint64_t)(ns / scale + 0.5);
}

/*
 * Interrupts
 */

static void put_pair(bool json, const char *key, uint64_t value)
{
    put(json ? ",\"" : " ");
    put(key);
    put(json ? "\":" : "=");
    put_number(value);
}

/* Which queue and policy: only where there are several. */
static void put_origin(const Lane *lane, bool json)
{
    if (lane->cq->cqid) {
        put_pair(json, "cq", lane->cq->cqid);
    }
    if (lane->replay->nr_arms > 1) {
        put_pair(json, "policy", lane->arm - lane->replay->arm);
    }
}

static void irq_as_text(const Lane *lane, int64_t t, const CintAction *action)
{
    put("irq ");
    put_number(whole(lane->replay, t));
    put(" ");
    put(class_names[action->fire]);
    put(" ");
    put(cint_reason_name(action->reason));
    put(" ");
    put_number(action->covered);
    put_origin(lane, false);
    put("\n");
}

static void irq_as_json(const Lane *lane, int64_t t, const CintAction *action)
{
    put("{\"irq\":");
    put_number(whole(lane->replay, t));
    put(",\"class\":\"");
    put(class_names[action->fire]);
    put("\",\"reason\":\"");
    put(cint_reason_name(action->reason));
    put("\",\"covered\":");
    put_number(action->covered);
    put_origin(lane, true);
    put("}\n");
}

void output_irq(const Lane *lane, int64_t t, const CintAction *action)
{
    if (lane->replay->setup->json) {
        irq_as_json(lane, t, action);
    } else {
        irq_as_text(lane, t, action);
    }
}

/*
 * Summary
 */

static uint64_t irqs(const Stats *stats)
{
    return stats->irqs[CINT_FIRE_FULL] + stats->irqs[CINT_FIRE_URGENT];
}

static double ratio(double a, double b)
{
    return b ? a / b : 0;
}

/* From the first event to the last: what came after was only waiting. */
static double seconds(const Replay *replay)
{
    return replay->events ?
           reported(replay, replay->now - replay->first_ns) / 1e9 : 0;
}

static double mean_ns(const Replay *replay, const HoldStats *hold)
{
    return reported(replay, ratio(hold->sum_ns, hold->cqes));
}

/* No value lies above the largest, whatever its bucket says. */
static uint64_t hold_quantile(const Replay *replay, const Stats *stats,
                              double share)
{
    return whole(replay, MIN(hist_quantile(&stats->hist, share),
                             stats_hold(stats).max_ns));
}

static Stats *arm_stats(const Replay *replay, unsigned arm)
{
    Stats *stats = g_new0(Stats, 1);
    unsigned i;

    for (i = 0; i < replay->nr_cqs; i++) {
        stats_merge(stats, &replay->cq[i]->lane[arm].stats);
    }
    return stats;
}

static Hist *all_gaps(const Replay *replay)
{
    Hist *hist = g_new0(Hist, 1);
    unsigned i;

    for (i = 0; i < replay->nr_cqs; i++) {
        hist_merge(hist, &replay->cq[i]->gaps);
    }
    return hist;
}

static uint64_t gap_quantile(const Replay *replay, const Hist *gaps,
                             double share)
{
    return whole(replay, hist_quantile(gaps, share));
}

static uint64_t recorded(const Replay *replay, CintFire class)
{
    uint64_t sum = 0;
    unsigned i;

    for (i = 0; i < replay->nr_cqs; i++) {
        sum += replay->cq[i]->recorded[class];
    }
    return sum;
}

static int name_width(const Replay *replay)
{
    size_t width = strlen("policy");
    unsigned i;

    for (i = 0; i < replay->nr_arms; i++) {
        width = MAX(width, strlen(replay->arm[i].name));
    }
    return width;
}

static void put_row(const Replay *replay, const char *name, const Stats *stats)
{
    HoldStats hold = stats_hold(stats);

    putf("%-*s %10" PRIu64 " %10" PRIu64 " %9.2f %10.0f %10.0f %10" PRIu64
         " %10" PRIu64 "\n", name_width(replay), name, irqs(stats),
         stats->irqs[CINT_FIRE_URGENT],
         ratio(replay->completions, irqs(stats)),
         ratio(irqs(stats), seconds(replay)), mean_ns(replay, &hold),
         hold_quantile(replay, stats, 0.99), whole(replay, hold.max_ns));
}

static void put_arms(Replay *replay)
{
    unsigned i, j;

    putf("%-*s %10s %10s %9s %10s %10s %10s %10s\n", name_width(replay),
         "policy", "interrupts", "of them", "CQEs per", "interrupts", "hold ns",
         "hold ns", "hold ns");
    putf("%-*s %10s %10s %9s %10s %10s %10s %10s\n", name_width(replay), "",
         "", "urgent", "interrupt", "per second", "mean", "p99", "max");
    for (i = 0; i < replay->nr_arms; i++) {
        g_autofree Stats *stats = arm_stats(replay, i);

        put_row(replay, replay->arm[i].name, stats);
        for (j = 0; replay->nr_cqs > 1 && j < replay->nr_cqs; j++) {
            const CqState *cq = replay->cq[j];

            putf("  CQ %u: interrupts %" PRIu64 ", CQEs %" PRIu32 "\n",
                 cq->cqid, irqs(&cq->lane[i].stats), cq->tail);
        }
    }
}

static void put_hints(Replay *replay)
{
    unsigned i, hint;

    for (i = 0; i < replay->nr_arms; i++) {
        g_autofree Stats *stats = arm_stats(replay, i);

        for (hint = 0; hint < NVME_CINT_NR_HINTS; hint++) {
            const HoldStats *hold = &stats->hold[hint];

            if (hold->cqes && hold->cqes != stats_hold(stats).cqes) {
                putf("hold %s %s: CQEs %" PRIu64 ", mean %.0f ns, max %"
                     PRIu64 " ns\n", replay->arm[i].name, hint_names[hint],
                     hold->cqes, mean_ns(replay, hold),
                     whole(replay, hold->max_ns));
            }
        }
    }
}

static void put_reasons(Replay *replay)
{
    unsigned i, reason;

    for (i = 0; i < replay->nr_arms; i++) {
        g_autofree Stats *stats = arm_stats(replay, i);

        putf("reasons %s:", replay->arm[i].name);
        for (reason = 0; reason < NVME_CINT_NR_REASONS; reason++) {
            if (stats->reasons[reason]) {
                putf(" %s=%" PRIu64, cint_reason_name(reason),
                     stats->reasons[reason]);
            }
        }
        if (stats->avoided) {
            putf(" (consumed before an interrupt: %" PRIu64 ")",
                 stats->avoided);
        }
        put("\n");
    }
}

static void put_load(Replay *replay)
{
    g_autofree Hist *gaps = all_gaps(replay);

    putf("events %" PRIu64 ", completions %" PRIu64 " in %.9g s",
         replay->events, replay->completions, seconds(replay));
    if (replay->setup->scale != 1) {
        putf(" of reported time (%g times as long in FILE; --guest-time)",
             replay->setup->scale);
    }
    if (gaps->total) {
        putf(", gap between them p50 %" PRIu64 " ns, p90 %" PRIu64
             " ns, p99 %" PRIu64 " ns", gap_quantile(replay, gaps, 0.5),
             gap_quantile(replay, gaps, 0.9), gap_quantile(replay, gaps, 0.99));
    }
    put("\n");
}

/*
 * What a policy's interrupts and the waiting for them cost, in the units of the
 * optimum. At the end everything was told of: deadlines have run out.
 */
static double cost_of(const Replay *replay, const Stats *stats,
                      unsigned weight)
{
    uint64_t waited = stats->hold[NVME_CINT_HINT_URGENT].sum_ns +
                      stats->hold[NVME_CINT_HINT_BARRIER].sum_ns;
    uint64_t others = stats_hold(stats).sum_ns - waited;

    return (double)OPTIMAL_PARTS * replay->setup->price_ns * irqs(stats) +
           (double)OPTIMAL_PARTS * waited +
           (double)weight * others;
}

/* Of all queues. */
static double least_cost(const Replay *replay, unsigned weight)
{
    double cost = 0;
    unsigned i;

    for (i = 0; i < replay->nr_cqs; i++) {
        cost += optimal_cost(replay->cq[i]->optimal, weight);
    }
    return cost;
}

static uint64_t least_irqs(const Replay *replay, unsigned weight)
{
    uint64_t n = 0;
    unsigned i;

    for (i = 0; i < replay->nr_cqs; i++) {
        n += optimal_irqs(replay->cq[i]->optimal, weight);
    }
    return n;
}

static double regret(const Replay *replay, const Stats *stats, unsigned weight)
{
    return ratio(cost_of(replay, stats, weight), least_cost(replay, weight));
}

static void put_regrets(const Replay *replay, unsigned arm)
{
    g_autofree Stats *stats = arm_stats(replay, arm);
    unsigned weight;

    putf("%-*s", name_width(replay), replay->arm[arm].name);
    for (weight = 0; weight < OPTIMAL_WEIGHTS; weight++) {
        putf(" %10.2f", regret(replay, stats, weight));
    }
    put("\n");
}

/* A column for each weight of the CQEs that nobody waits for. */
static void put_optima(Replay *replay)
{
    int width = name_width(replay);
    unsigned weight, i;

    if (!replay->setup->price_ns) {
        return;
    }
    putf("regret: cost as a ratio to the least there could be, where an "
         "interrupt costs %" PRIu64 " ns,\nand a ns of waiting 1, or w if "
         "nobody waits for that command\n%-*s",
         whole(replay, replay->setup->price_ns), width, "policy");
    for (weight = 0; weight < OPTIMAL_WEIGHTS; weight++) {
        putf("   w = %4.2f", (double)weight / OPTIMAL_PARTS);
    }
    put("\n");
    for (i = 0; i < replay->nr_arms; i++) {
        put_regrets(replay, i);
    }
    putf("%-*s", width, "least: irqs");
    for (weight = 0; weight < OPTIMAL_WEIGHTS; weight++) {
        putf(" %10" PRIu64, least_irqs(replay, weight));
    }
    put("\n");
    put("note: no ranking: a guest answers its interrupts, which the record "
        "cannot know (./cint compare)\n");
}

static void put_note(uint64_t count, const char *what)
{
    if (count) {
        putf("note: %" PRIu64 " %s\n", count, what);
    }
}

static void put_notes(Replay *replay)
{
    put_note(replay->nr_flying,
             "commands are still in flight at the end");
    put_note(replay->strangers,
             "completions were left out, of commands submitted before the "
             "trace began");
    put_note(replay->setup->traced ? replay->cancelled : 0,
             "commands were taken for cancelled, their identifier was used "
             "again");
    put_note(replay->ignored_heads,
             "head events were left out (--reap trace follows them)");
    put_note(recorded(replay, CINT_FIRE_FULL),
             "full interrupts were sent by the traced device");
    put_note(recorded(replay, CINT_FIRE_URGENT),
             "urgent interrupts were sent by the traced device");
}

static void put_json_hold(const Replay *replay, const char *name,
                          const HoldStats *hold)
{
    putf("\"%s\":{\"cqes\":%" PRIu64 ",\"mean_ns\":%.1f,\"max_ns\":%" PRIu64
         "}", name, hold->cqes, mean_ns(replay, hold),
         whole(replay, hold->max_ns));
}

static void put_json_config(CintConfig config)
{
    const CintParam *param;

    put(",\"parameters\":{");
    for (param = cint_params; param->name; param++) {
        uint64_t value = *cint_config_field(&config, param);

        putf("%s\"%s\":", param == cint_params ? "" : ",", param->name);
        if (param->type == CINT_PARAM_ENUM) {
            putf("\"%s\"", param->values[value]);
        } else if (param->type == CINT_PARAM_BOOL) {
            put(value ? "true" : "false");
        } else {
            put_number(value);
        }
    }
    put("}");
}

static void put_json_reasons(const Stats *stats)
{
    unsigned reason;
    const char *comma = "";

    put(",\"reasons\":{");
    for (reason = 0; reason < NVME_CINT_NR_REASONS; reason++) {
        if (stats->reasons[reason]) {
            putf("%s\"%s\":%" PRIu64, comma, cint_reason_name(reason),
                 stats->reasons[reason]);
            comma = ",";
        }
    }
    put("}");
}

static void put_json_arm(Replay *replay, unsigned arm)
{
    g_autofree Stats *stats = arm_stats(replay, arm);
    HoldStats hold = stats_hold(stats);
    unsigned hint;

    putf("%s{\"policy\":\"%s\",\"interrupts\":%" PRIu64 ",\"full\":%" PRIu64
         ",\"urgent\":%" PRIu64 ",\"cqes_per_interrupt\":%.4f,"
         "\"interrupts_per_s\":%.1f,\"avoided\":%" PRIu64 ",",
         arm ? "," : "", replay->arm[arm].name, irqs(stats),
         stats->irqs[CINT_FIRE_FULL], stats->irqs[CINT_FIRE_URGENT],
         ratio(replay->completions, irqs(stats)),
         ratio(irqs(stats), seconds(replay)), stats->avoided);
    put_json_hold(replay, "hold", &hold);
    putf(",\"hold_p99_ns\":%" PRIu64 ",\"hold_by_hint\":{",
         hold_quantile(replay, stats, 0.99));
    for (hint = 0; hint < NVME_CINT_NR_HINTS; hint++) {
        put(hint ? "," : "");
        put_json_hold(replay, hint_names[hint], &stats->hold[hint]);
    }
    put("},");
    put_json_hold(replay, "post_to_head", &stats->post_to_head);
    put_json_reasons(stats);
    put_json_config(replay->arm[arm].config);
    put("}");
}

static void put_json_optimum(const Replay *replay, unsigned weight)
{
    double cost_ns = reported(replay, least_cost(replay, weight)) /
                     OPTIMAL_PARTS;
    unsigned i;

    putf("%s{\"weight\":%.2f,\"interrupts\":%" PRIu64 ",\"cost_ns\":%.2f,"
         "\"regret\":[", weight ? "," : "", (double)weight / OPTIMAL_PARTS,
         least_irqs(replay, weight), cost_ns);
    for (i = 0; i < replay->nr_arms; i++) {
        g_autofree Stats *stats = arm_stats(replay, i);

        putf("%s%.4f", i ? "," : "", regret(replay, stats, weight));
    }
    put("]}");
}

static void put_json_optima(const Replay *replay)
{
    unsigned weight;

    putf(",\"optimum\":{\"price_ns\":%" PRIu64 ",\"weights\":[",
         whole(replay, replay->setup->price_ns));
    for (weight = 0; weight < OPTIMAL_WEIGHTS; weight++) {
        put_json_optimum(replay, weight);
    }
    put("]}");
}

static void put_json(Replay *replay)
{
    g_autofree Hist *gaps = all_gaps(replay);
    unsigned i;

    putf("{\"summary\":{\"events\":%" PRIu64 ",\"completions\":%" PRIu64
         ",\"seconds\":%.9f,\"cpu_scale\":%g,\"in_flight\":%u"
         ",\"left_out\":%" PRIu64
         ",\"cancelled\":%" PRIu64 ",\"ignored_heads\":%" PRIu64,
         replay->events, replay->completions, seconds(replay),
         replay->setup->scale, replay->nr_flying, replay->strangers,
         replay->cancelled, replay->ignored_heads);
    putf(",\"recorded\":{\"full\":%" PRIu64 ",\"urgent\":%" PRIu64 "}",
         recorded(replay, CINT_FIRE_FULL),
         recorded(replay, CINT_FIRE_URGENT));
    putf(",\"gap_ns\":{\"p50\":%" PRIu64 ",\"p90\":%" PRIu64 ",\"p95\":%"
         PRIu64 ",\"p99\":%" PRIu64 ",\"p99.9\":%" PRIu64 "}",
         gap_quantile(replay, gaps, 0.5), gap_quantile(replay, gaps, 0.9),
         gap_quantile(replay, gaps, 0.95), gap_quantile(replay, gaps, 0.99),
         gap_quantile(replay, gaps, 0.999));
    put(",\"policies\":[");
    for (i = 0; i < replay->nr_arms; i++) {
        put_json_arm(replay, i);
    }
    put("]");
    if (replay->setup->price_ns) {
        put_json_optima(replay);
    }
    put("}}\n");
}

void output_summary(Replay *replay)
{
    if (replay->setup->json) {
        put_json(replay);
        return;
    }
    put_load(replay);
    put_arms(replay);
    put_hints(replay);
    put_reasons(replay);
    put_optima(replay);
    put_notes(replay);
}
