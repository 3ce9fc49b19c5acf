#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Breaks files that need no guest a line at a time and runs their tests.

Pure ones of the device and of the guest's kernel, and the user-space driver.

    tests/unit/mutate.py [--check] [PATTERN]

Each mutant is a copy of a file in which one piece of text is replaced. A mutant that no test
notices has survived; the exit status says whether one did. PATTERN limits the files. --check only
looks whether each text stands once in its file.
"""

import argparse
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "tests/unit"

# File of hw/nvme/, of the kernel or of the driver in user space, and for each mutant what is
# replaced by what.
MUTANTS = {
    "model/arb.c": [
        ("urgent is one class of four", "arb->first[CINT_ARB_URGENT] ? CINT_ARB_URGENT :", ""),
        ("no line for each class", "arb->weighted ? sq->class : 0", "0"),
        ("a line for each class under round robin", "arb->weighted ? sq->class : 0", "sq->class"),
        ("weights 1's based", "(value >> 24 & 0xff) + 1", "(value >> 24 & 0xff)"),
        ("weights of high and low exchanged", "arb->weight[CINT_ARB_LOW] = (value >> 8",
         "arb->weight[CINT_ARB_LOW] = (value >> 24"),
        ("burst not a power of two", ": 1u << burst", ": burst"),
        ("no limit is 128", "burst == BURST_NO_LIMIT ? 1 :", ""),
        ("credit not used up", "arb->credit[line]--;", ";"),
        ("credit is added to", "memcpy(arb->credit, arb->weight, sizeof(arb->credit));",
         "for (line = 1; line < 4; line++) { arb->credit[line] += arb->weight[line]; }"),
        ("turn not used up", "if (!--arb->turn[line]) {", "if (!arb->turn[line]) {"),
        ("turn never passed", "arb->first[line] = arb->first[line]->next;", ";"),
        ("turn not renewed", "    arb->first[line] = arb->first[line]->next;\n"
         "    arb->turn[line] = arb->burst;", "    arb->first[line] = arb->first[line]->next;\n"
         "    arb->turn[line] = 1;"),
        ("first in line begins with an old turn", "sq->next = sq->prev = sq;\n"
         "        arb->turn[sq->line] = arb->burst;", "sq->next = sq->prev = sq;"),
        ("joins at the front", "    sq->prev->next = sq;\n    sq->next->prev = sq;",
         "    sq->prev->next = sq;\n    sq->next->prev = sq;\n    *first = sq;"),
        ("leaves line at the first grant", "sq->backlog > sq->granted;", "sq->backlog > 0 && "
         "!sq->granted;"),
        ("stays in line for one more", "sq->backlog > sq->granted;",
         "sq->backlog >= sq->granted && sq->backlog;"),
        ("grants beyond the backlog kept", "if (sq->granted > backlog) {", "if (0) {"),
        ("slots granted not counted", "arb->used + arb->granted >= arb->slots",
         "arb->used >= arb->slots"),
        ("one slot too many", "arb->used + arb->granted >= arb->slots",
         "arb->used + arb->granted > arb->slots"),
        ("one slot too few", "arb->used + arb->granted >= arb->slots",
         "arb->used + arb->granted + 1 >= arb->slots"),
        ("a grant is good for ever", "        sq->granted--;\n        arb->granted--;\n", ""),
        ("a fetch uses no slot", "    arb->used++;\n", ""),
        ("a fetch leaves the backlog", "    sq->backlog--;\n", ""),
        ("no place in line after a fetch", "    sq->backlog--;\n    update_line(arb, sq);\n",
         "    sq->backlog--;\n"),
    ],
    "model/arb.h": [
        ("0 slots are none", "return sq->granted || !arb->slots;", "return sq->granted;"),
        ("fetches without a grant", "return sq->granted || !arb->slots;",
         "return sq->granted || !arb->slots || arb->used < arb->slots;"),
        ("a slot is never free again", "    arb->used--;\n", ""),
    ],
    "model/media.c": [
        ("busiest unit", "media->unit_ns[i] < media->unit_ns[best]",
         "media->unit_ns[i] > media->unit_ns[best]"),
        ("last unit never used", "i < media->params.units", "i + 1 < media->params.units"),
        ("no size", "base + scale(bytes, per_kib, 1024)", "base + 0 * scale(bytes, per_kib, 1024)"),
        ("KiB of 1000", "scale(bytes, per_kib, 1024)", "scale(bytes, per_kib, 1000)"),
        ("no jitter", " +\n                   draw(media, p->jitter_ns)", ""),
        ("no spread", " + spread(media, now)", ""),
        ("a burst of each command", "if (now != media->burst_ns) {", "if (1) {"),
        ("one burst after another parameter", "    }\n    media->burst_ns = INT64_MIN;\n",
         "    }\n"),
        ("jitter one-sided", " - (int64_t)range;", ";"),
        ("jitter short of its end", "% (2 * range + 1)", "% (2 * range)"),
        ("early by jitter", "return time > 0 ? time : 0;", "return time;"),
        ("latencies exchanged", "is_write ? p->write_latency_ns : p->read_latency_ns",
         "is_write ? p->read_latency_ns : p->write_latency_ns"),
        ("per-KiB exchanged", "is_write ? p->write_per_kib_ns : p->read_per_kib_ns",
         "is_write ? p->read_per_kib_ns : p->write_per_kib_ns"),
        ("bandwidth exchanged", "is_write ? p->write_bandwidth : p->read_bandwidth",
         "is_write ? p->read_bandwidth : p->write_bandwidth"),
        ("one channel", "occupy(&media->channel_ns[is_write], now,",
         "occupy(&media->channel_ns[0], now,"),
        ("idle time saved up", ".start_ns = *free_ns > now ? *free_ns : now",
         ".start_ns = *free_ns"),
        ("medium before transfer", "claim->service.end_ns > claim->transfer.end_ns ?",
         "claim->service.end_ns < claim->transfer.end_ns ?"),
        ("product wraps", "__builtin_mul_overflow(a, b, &product) || product / c > MOST_NS",
         "__builtin_mul_overflow(a, b, &product) && 0"),
        ("no most", " || product / c > MOST_NS", ""),
        ("sum wraps", "__builtin_add_overflow(span.start_ns, time, &span.end_ns)",
         "__builtin_add_overflow(span.start_ns, time, &span.end_ns) && 0"),
        ("nothing vacated", "if (span->end_ns > start) {", "if (0) {"),
        ("past time vacated", "span->start_ns > now ? span->start_ns : now", "span->start_ns"),
        ("claim kept", "&claim->transfer);\n    memset(claim, 0, sizeof(*claim));",
         "&claim->transfer);"),
        ("transfer not vacated", "vacate(&media->channel_ns[claim->is_write], now, "
         "&claim->transfer);", ""),
        ("wrong channel vacated", "vacate(&media->channel_ns[claim->is_write]",
         "vacate(&media->channel_ns[!claim->is_write]"),
        ("wrong unit vacated", "*unit = first_free_unit(media);\n    return occupy(&media->"
         "unit_ns[*unit]", "*unit = 0;\n    return occupy(&media->unit_ns[first_free_unit(media)]"),
        ("no unit vacated without units", "claim->unit < CINT_MEDIA_MAX_UNITS", "1"),
        ("claim of an earlier use", "    memset(claim, 0, sizeof(*claim));\n    if (media->params",
         "    if (media->params"),
        ("seed ignored", "if (media->params.seed != params->seed) {", "if (0) {"),
        ("same seed begins anew", "if (media->params.seed != params->seed) {", "{"),
        ("profile forgets the seed", "    profile.seed = params->seed;\n", ""),
        ("none takes time", "if (media->params.profile == CINT_MEDIA_NONE) {", "if (0) {"),
        ("no minimum", "return bandwidth && bandwidth < CINT_MEDIA_MIN_BANDWIDTH;",
         "return false;"),
    ],
    "coalesce/tune.c": [
        ("sample never long", "shift > 6 ? 1u << (shift - 2) : LEAST_SAMPLE", "LEAST_SAMPLE"),
        ("natural: no delta", "now - tuner->natural_ns >= tuner->set_delta_ns", "false"),
        ("natural: delta after its end", "now - tuner->natural_ns >= tuner->set_delta_ns",
         "now - tuner->natural_ns > tuner->set_delta_ns"),
        ("natural: no thr", "++tuner->natural_cqes >= tuner->set_thr ||",
         "++tuner->natural_cqes == 0 ||"),
        ("natural: no hints", " || asked == CINT_ASKED_FULL", ""),
        ("natural: lone Urgent counts toward thr",
         "if (asked == CINT_ASKED_URGENT && !tuner->natural_cqes) {", "if (0) {"),
        ("natural: Urgent among others is none", "} else if (asked == CINT_ASKED_URGENT) {",
         "} else if (0) {"),
        ("rates rounded down", "(n * tuner->gap_ns + time - 1) / time",
         "n * tuner->gap_ns / time"),
        ("no most", "thr < tuner->most_thr ? thr : tuner->most_thr", "thr"),
        ("up by one", "    if (reaches(tuner, sample, sample->irqs, 105)) {\n"
         "        return in_proportion(tuner, sample);", "    if (reaches(tuner, sample, "
         "sample->irqs, 105)) {\n        return bounded(tuner, tuner->thr + 1);"),
        ("starts at 1", "bounded(tuner, in_a_gap(tuner, sample, sample->cqes)) : 0", "1 : 0"),
        ("too fast is 10 % more", "    if (reaches(tuner, sample, sample->irqs, 105)) {\n",
         "    if (reaches(tuner, sample, sample->irqs, 110)) {\n"),
        ("lets go at the limit", "sample->natural, 80)", "sample->natural, 100)"),
        ("never lets go", "sample->natural, 80)", "sample->natural, 0)"),
        ("too slow is 20 % less", "reaches(tuner, sample, sample->irqs, 95)",
         "reaches(tuner, sample, sample->irqs, 80)"),
        ("patience never grows", "        tuner->patience *= 2;\n", ""),
        ("patience grows without a step down", "tuner->went_down && tuner->patience",
         "tuner->patience"),
        ("forgets what is too fast", "tuner->too_fast_thr = tuner->thr;",
         "tuner->too_fast_thr = 0;"),
        ("too fast under any load", "tuner->too_fast_load = load_of(tuner, &tuner->sample);",
         "tuner->too_fast_load = 0;"),
        ("least thr of the slow samples", "tuner->slow_thr = greater(tuner->slow_thr, thr);",
         "tuner->slow_thr = thr;"),
        ("load of the last slow sample", "tuner->slow_load = greater(tuner->slow_load,\n"
         "                               load_of(tuner, &tuner->sample));",
         "tuner->slow_load = load_of(tuner, &tuner->sample);"),
        ("one slow sample fewer", "tuner->slow >= tuner->patience", "tuner->slow + 1 >= "
         "tuner->patience"),
        ("slow samples need not be in a row", "    } else {\n        tuner->slow = 0;\n",
         "    } else {\n"),
        ("the same sample again", "    start_sample(tuner);\n    return changed;",
         "    return changed;"),
    ],
    "coalesce/limit.c": [
        ("active without a ring", "limits->message_sent && limits->rung &&",
         "limits->message_sent &&"),
        ("active before any message", "limits->message_sent && limits->rung &&",
         "limits->rung &&"),
        ("the gate is shut before any message", "limits->message_sent && !limits->acked &&",
         "!limits->acked &&"),
        ("an acknowledgement says nothing", "limits->message_sent && !limits->acked &&",
         "limits->message_sent &&"),
        ("the gate's end belongs to it", "now - limits->message_ns < limits->gate_ns",
         "now - limits->message_ns <= limits->gate_ns"),
        ("a message needs no acknowledgement", "if (is_unacknowledged(limits, now)) {",
         "if (0) {"),
        ("the gate opens when the window does", "limits->message_ns + limits->gate_ns",
         "limits->message_ns + limits->window_ns"),
        ("a gate alone is no limit", "limits->gate_ns || limits->window_ns ||",
         "limits->window_ns ||"),
        ("window's end belongs to it", "now - limits->message_ns < limits->window_ns",
         "now - limits->message_ns <= limits->window_ns"),
        ("free at the limit itself", "limits->ewma <= to_fixed(limits->gap_ns)",
         "limits->ewma < to_fixed(limits->gap_ns)"),
        ("retune holds", "!limits->retune && is_too_fast(limits)", "is_too_fast(limits)"),
        ("held one ns too long", "now < limits->last_ns + limits->gap_ns",
         "now <= limits->last_ns + limits->gap_ns"),
        ("a ring releases to the window", "reason != NVME_CINT_REASON_KICK && ", ""),
        ("storm before window", "        return CINT_HELD_KICK;\n",
         "        return storm_holds(limits, now) ? CINT_HELD_STORM : CINT_HELD_KICK;\n"),
        ("a window lets go as a storm does", "return limits->message_ns + limits->window_ns;",
         "return limits->last_ns + limits->gap_ns;"),
        ("a storm lets go as a window does", "return limits->last_ns + limits->gap_ns;",
         "return limits->message_ns + limits->window_ns;"),
        ("idle gap counts in full", "interval < most ? interval : most", "interval"),
        ("mean rounded down", "uint64_t round_up = (1u << limits->shift) - 1;",
         "uint64_t round_up = 0;"),
        ("mean of one", "if (!limits->ewma) {", "if (1) {"),
        ("hold tunes", "limits->retune &&\n                  cint_tuner_sent",
         "cint_tuner_sent"),
        ("gap rounded down", "(SECOND_NS + rate - 1) / rate", "SECOND_NS / rate"),
        ("the same limit begins anew", "if (gap != limits->gap_ns ||", "if (1 ||"),
        ("another rate goes on", "if (gap != limits->gap_ns ||", "if ("),
        ("another weight goes on", "config->ewma_shift != limits->shift ||\n        ",
         ""),
        ("another limit keeps the mean", "        limits->ewma = 0;\n", ""),
        ("another limit keeps the last", "        limits->sent = false;\n", ""),
        *((f"no limit but a {name} is none",
           "limits->any = limits->gate_ns || limits->window_ns || limits->gap_ns",
           "limits->any = " + " || ".join(f"limits->{one}_ns" for one in ("gate", "window", "gap")
                                          if one != left))
          for name, left in (("gate", "gate"), ("window", "window"), ("rate", "gap"))),
    ],
    "coalesce/coalesce.c": [
        ("drained with a backlog", "cq->drain && cint_nothing_comes(cq)",
         "cq->drain && (cq->asleep || !cq->inflight)"),
        ("drain's own reason always", "cint_verdict(is_all ? verdict.reason :"
         " NVME_CINT_REASON_DRAIN)", "cint_verdict(NVME_CINT_REASON_DRAIN)"),
        ("the policy's reason always", "(!verdict.urgent_only || cq->pending == 1);", "1;"),
        ("a drained Urgent is urgent only", "return cint_verdict(is_all ?",
         "return is_all ? verdict : cint_verdict(is_all ?"),
        ("drain has a say while tuning", "} else if (drained(cq)) {", "}\n    if (drained(cq)) {"),
        ("a cancel drains while tuning", " && !cint_limits_tuning(&cq->limits)", ""),
        ("backlog of the queue not counted", "sq->cq->backlog += backlog - sq->backlog;", ""),
        ("backlog of the scope not counted", "sq->cq->scope->backlog += backlog - sq->backlog;",
         ""),
        ("a fetch leaves the backlog", "        sq->backlog--;\n", ""),
        ("a fetch leaves the queue's backlog", "        cq->backlog--;\n", ""),
        ("a fetch leaves the scope's backlog", "        scope->backlog--;\n", ""),
        ("what was known of the guest outlives a change", "    begin_watching(cq, now);\n",
         "    cq->asleep = false;\n    cq->probing = false;\n"),
        ("the guest is asleep after it was told", "    cq->asleep = false;\n"
         "    cq->probing = false;\n    cq->resting = false;\n    forget_most(cq, now);\n",
         "    forget_most(cq, now);\n"),
        ("a guest at rest has delta as the load has it",
         "cq->resting ? set : cint_pace_delta(&cq->pace, set)", "cint_pace_delta(&cq->pace, set)"),
        ("a guest that is told goes on resting",
         "    cq->resting = false;\n    forget_most(cq, now);\n", "    forget_most(cq, now);\n"),
        ("going to rest moves a late timer away", "    if (quiet < now) {\n        quiet = now;\n"
         "    }\n    if (cq->resting &&", "    if (cq->resting &&"),
        ("a tail that went back drains nothing",
         "went ? commands_went(sq->cq, now, false)\n", "went ? no_action\n"),
        ("backlog outlives its queue", "    set_backlog(sq, 0);\n", ""),
        ("a lone Urgent is retained", "    if (!cq->pending) {\n        cq->retained--;\n    }\n",
         ""),
        ("none is retained behind another",
         "    if (!cq->pending) {\n        cq->retained--;\n    }\n", "    cq->retained--;\n"),
        ("what was held goes urgent", "verdict.urgent_only && !cq->held ?",
         "verdict.urgent_only ?"),
        ("limits on a disabled vector", "cq->limits.any && !cq->disabled", "cq->limits.any"),
        ("delta below the limit's interval",
         "if (cq->delta_ns < limits->gap_ns) {", "if (0) {"),
        ("late timer decides late", "if (cint_hold_deadline(cq) <= due) {",
         "if (cint_hold_deadline(cq) <= now) {"),
        ("late timer is sent early", "    if (cint_release_deadline(cq) <= due) {\n"
         "        return release(cq, now);", "    if (cint_release_deadline(cq) <= due) {\n"
         "        return release(cq, due);"),
    ],
    "coalesce/vic.c": [
        ("backlog is not in flight", "cq->inflight + cq->backlog :", "cq->inflight :"),
        ("the controller's backlog is not in flight",
         "cq->scope->inflight + cq->scope->backlog);", "cq->scope->inflight);"),
        ("a scope's first epoch has no ratio", "*skip = epoch->skip ? epoch->skip : 1;",
         "*skip = epoch->skip;"),
        ("a step that costs is kept", "    if (loss && trial->stepped) {", "    if (0) {"),
        ("another load's loss is a step's", "    if (loss && trial->stepped) {",
         "    if (loss) {"),
        ("less is no loss", "trial->rate - trial->rate / LOSS_SHARE;", "trial->rate / 2;"),
        ("each difference is a loss", "trial->rate - trial->rate / LOSS_SHARE;", "trial->rate;"),
        ("patience does not grow", "2 * trial->patience + !trial->patience", "1"),
        ("patience has no end", "    trial->patience = trial->patience < MOST_PATIENCE / 2 ?",
         "    trial->patience = true ?"),
        ("patience is not over with a gain", "        trial->patience = 0;\n", ""),
        ("another load is as patient as a new one", "{ .patience = trial->patience };",
         "{ .rate = 0 };"),
        ("losses add up", "skip > 1 && (loss || !trial->rate)", "skip > 1 && !trial->rate"),
        ("another rule's ratio is a beginning", "skip > 1 && (loss || !trial->rate)",
         "skip > 1 && loss"),
        ("a worse rate at the beginning does not count", "skip == 1 || iops > trial->rate",
         "iops > trial->rate"),
        ("what steps win may be lost", "skip == 1 || iops > trial->rate", "skip == 1"),
        ("no step waits", "trial->stepped = !trial->wait;", "trial->stepped = true;"),
        ("all that is in flight may be held",
         "cif / config->cif_threshold;\n\n    return config->max",
         "cif;\n\n    return config->max"),
        ("the trial knows no max-skip", "config->max_skip && most > config->max_skip ?", "0 ?"),
        ("what was not tried has cost", "        epoch->trial.stepped = false;\n", ""),
        ("a low rate is tried", "    if (epoch->low_iops || !most) {", "    if (!most) {"),
        ("the trial goes on after a low rate",
         "        epoch->trial = (CintVicTrial) { .rate = 0 };\n        set_ratio(epoch, 1, 1);",
         "        set_ratio(epoch, 1, 1);"),
        ("the trial goes on after another rule",
         "        epoch->trial = (CintVicTrial) { .rate = 0 };\n        if (config->vic_ratios",
         "        if (config->vic_ratios"),
        ("the last completion's commands in flight count", "epoch->cif / epoch->completions",
         "cif"),
        ("commands in flight of all epochs count", "    epoch->cif = 0;\n", ""),
    ],
    "coalesce/waits.c": [
        ("all queues share a slice", "(sq->slice << 16 | hash)", "hash"),
        ("all queues' beliefs are the first's", "return sq->slice * buckets(waits)",
         "return 0 * buckets(waits)"),
        ("a queue that comes takes beliefs over",
         "    /* Another queue may have had it before. */\n"
         "    memset(&waits->entry[slice_of(waits, sq)], 0,\n"
         "           sizeof(CintWaitsPage) * CINT_WAITS_WAYS * buckets(waits));\n", ""),
        ("beliefs survive another cut", "        memset(waits->entry, 0, sizeof(waits->entry));\n",
         ""),
        ("the last queue leaves the cut", "        memset(waits, 0, sizeof(*waits));\n", ""),
        ("who leaves the last slice takes it along", "LAST_SLICE && --waits->sharers",
         "LAST_SLICE && (--waits->sharers, 0)"),
        ("no belief is handed on", "return !pushed_out->page ? score :", "return 1 ? score :"),
        ("a new buffer is never a job's",
         "sq->against < AGAINST_MANY ? SCORE_MOST : SCORE_LIKELY", "SCORE_MOST"),
        ("a new buffer is a job's, whoever is there",
         "sq->against < AGAINST_MANY ? SCORE_MOST : SCORE_LIKELY", "SCORE_LIKELY"),
        ("one judgement is enough against a new one", "#define SCORE_LIKELY    150",
         "#define SCORE_LIKELY    140"),
        ("a belief is handed on whole", "pushed_out->score < SCORE_UNSURE ? SCORE_UNSURE\n"
         "                                            : pushed_out->score;", "pushed_out->score;"),
        ("the one used last has to go", "    for (i = 1; i < CINT_WAITS_WAYS; i++) {",
         "    for (i = CINT_WAITS_WAYS; i < CINT_WAITS_WAYS; i++) {"),
        ("known is only what was used last",
         "            *first = entry;\n            return true;",
         "            *first = entry;\n            return false;"),
        ("what was used stays where it is", "        first[i] = pushed;\n        pushed = entry;\n",
         "        pushed = entry;\n"),
        ("nothing is ever old", "% TICKS > CINT_WAITS_OLD;", "% TICKS > TICKS;"),
        ("old a tick early", "% TICKS > CINT_WAITS_OLD;", "% TICKS >= CINT_WAITS_OLD;"),
        ("old a tick late", "% TICKS > CINT_WAITS_OLD;", "% TICKS > CINT_WAITS_OLD + 1;"),
        ("what is old is judged", "    if (is_old(entry, tick)) {", "    if (0) {"),
        ("what is old keeps its belief", "        entry->score = first_score(sq);\n", ""),
        ("a use leaves the tick", "    entry->used = tick;\n", ""),
        ("a judgement goes all the way", "#define SCORE_SHARE     8", "#define SCORE_SHARE     1"),
        ("one judgement is enough to be believed again", "#define SCORE_DOUBTED   16",
         "#define SCORE_DOUBTED   1"),
        *((f"the last but {n} does not count", f"recent[{n}] == page", "0") for n in range(4)),
        ("nobody may come between", "#define BETWEEN_MOST    1", "#define BETWEEN_MOST    0"),
        ("two may come between", "#define BETWEEN_MOST    1", "#define BETWEEN_MOST    2"),
        ("who overtakes does not count", "overtaken(sq, post) / OVERTAKEN_EACH", "0"),
        ("each overtaken excuses one", "#define OVERTAKEN_EACH  2", "#define OVERTAKEN_EACH  1"),
        ("three overtaken excuse one", "#define OVERTAKEN_EACH  2", "#define OVERTAKEN_EACH  3"),
        ("only overtaking counts", "    if (came_within(sq, post, BETWEEN_MOST)) {",
         "    if (0) {"),
        ("half of what is overtaken counts", "0x0101010101010101 >> 56",
         "0x0101010101010101 >> 57"),
        ("who waits is overtaken, too", "sq->lying |= !is_waited(entry);", "sq->lying |= 1;"),
        ("who comes later is overtaken", "sq->lying & -cqe_bit(sq, post)", "sq->lying"),
        ("what is used again lies there", "        sq->lying &= ~cqe_bit(sq, entry->post);\n", ""),
        ("a buffer lies there twice", "        pick_up(sq, entry);\n        entry->post",
         "        entry->post"),
        ("CQEs of long ago are the last", "ago < CINT_WAITS_CQES ? 1ull << ago : 0",
         "1ull << ago % CINT_WAITS_CQES"),
        ("CQEs of long ago stay", "since < CINT_WAITS_CQES ? sq->lying << since : 0",
         "sq->lying << since % CINT_WAITS_CQES"),
        ("CQEs do not move on", "since < CINT_WAITS_CQES ? sq->lying << since : 0",
         "sq->lying"),
        ("a Flush is not answered", "sq->bare_post : entry->post;", "entry->post : entry->post;"),
        ("a Flush of before is answered", "is_before(entry->post, sq->bare_post) &&", "true &&"),
        ("a Flush in flight is answered", "is_before(sq->bare_post, told) ?", "true ?"),
        ("what was not told of is judged", "entry->posted && is_before(entry->post, told)",
         "entry->posted"),
        ("what is in flight is judged", "entry->posted && is_before(entry->post, told)",
         "is_before(entry->post, told)"),
        ("a use in flight counts as posted", "    entry->posted = false;\n    entry->used",
         "    entry->used"),
        ("who came first says nothing", "return first || (sq->fresh", "return (sq->fresh"),
        ("buffers that are new say something", "sq->fresh < FRESH_MANY && ", ""),
        ("known buffers say nothing of new ones", "if (sq->fresh || !known) {", "if (!known) {"),
        ("no buffer is ever new", "moved(sq->fresh, !known, FRESH_SHARE)",
         "moved(sq->fresh, 0, FRESH_SHARE)"),
        ("without a buffer nobody waits", "    if (!page) {\n        return true;",
         "    if (!page) {\n        return false;"),
        ("16 bits do not wrap", "return (int16_t)(a - b) < 0;", "return a < b;"),
    ],
    "coalesce/price.c": [
        ("the price is of no weight", "cq->config.price_ns * WHOLE", "cq->config.price_ns"),
        ("what was told of counts again", "    if (cq->pending > 1) {", "    if (1) {"),
        ("what is pending is forgotten", "    if (cq->pending > 1) {", "    if (0) {"),
        ("weights do not add up", "        weight += cq->price.weight;\n", ""),
        ("waits do not add up", "left = cq->price.left - ", "left -= "),
        ("time is counted twice", "    cq->price.since_ns = now;\n", ""),
        ("nobody is waited for", "is_waited_for(cmd) ? WHOLE : cq->config.weight",
         "cq->config.weight"),
        ("all are waited for", "is_waited_for(cmd) ? WHOLE : cq->config.weight", "WHOLE"),
        ("a Barrier is not waited for", "(cmd->hints == NVME_CINT_HINT_BARRIER &&", "(0 &&"),
        ("any command is this one", "cmd->waiter != CINT_WAITER_ANY", "1"),
        ("a ns early", "(left + weight - 1)", "(left)"),
        ("no price, no interrupt", "if (left <= 0)", "if (left < 0)"),
        ("without drain", "    .drain = true,", ""),
        ("nothing is inferred", "    .infers = true,", ""),
    ],
    "drivers/nvme/host/ooo.h": [
        ("starts with the wrong phase", "\t\t.phase = 1,\n", ""),
        ("starts with the doubts of before", "\t\t.phase = 1,",
         "\t\t.phase = 1,\n\t\t.doubts = ooo->doubts,"),
        ("starts with the messages of before", "\t\t.phase = 1,",
         "\t\t.phase = 1,\n\t\t.seq = ooo->seq,"),
        ("the ring has no end", "idx + 1 == ooo->depth ? 0 : idx + 1", "idx + 1"),
        ("counts do not wrap", "(s32)(tail - nr) > 0", "nr < tail"),
        ("full_tail covers one entry more", "(s32)(tail - nr) > 0", "(s32)(tail - nr) >= 0"),
        ("the head is not counted", "\tooo->count++;\n", ""),
        ("the head stays", "\tooo->head = nvme_ooo_next(ooo, ooo->head);\n", ""),
        ("the doorbell forgets one", "\tooo->ahead--;\n\tpass->freed++;", "\tooo->ahead--;"),
        ("held entries are left by a poll", "(all || nvme_ooo_before(ooo->count, full_tail))",
         "nvme_ooo_before(ooo->count, full_tail)"),
        ("every pass takes what is held", "(all || nvme_ooo_before(ooo->count, full_tail))", "1"),
        ("what was taken early is taken again",
         "\t\tif (!__test_and_clear_bit(ooo->head, ooo->handled)) {",
         "\t\t__test_and_clear_bit(ooo->head, ooo->handled);\n\t\t{"),
        ("what was held counts as held", "\t\t\tooo->held--;\n", ""),
        ("what was held counts as not done", "\t\t\tooo->held--;\n\t\t\tpass->done++;",
         "\t\t\tooo->held--;"),
        ("what was taken early keeps the head back",
         "while (ooo->ahead && __test_and_clear_bit(ooo->head, ooo->handled))",
         "while (0)"),
        ("the phase does not change at the end of the ring", "\t\t\tooo->phase ^= 1;",
         "\t\t\t;"),
        ("an urgent interrupt takes everything", "if (!ops->urgent(queue, idx)) {", "if (0) {"),
        ("urgent entries are held", "if (!ops->urgent(queue, idx)) {", "{"),
        ("a poll holds entries", "if (!all && !nvme_ooo_before(ooo->count",
         "if (!nvme_ooo_before(ooo->count"),
        ("full_tail covers one new entry less", "ooo->count + ooo->ahead - 1, full_tail)",
         "ooo->count + ooo->ahead, full_tail)"),
        ("full_tail covers one new entry more", "ooo->count + ooo->ahead - 1, full_tail)",
         "ooo->count + ooo->ahead - 2, full_tail)"),
        ("an urgent entry explains no message", "\t\t\tpass->urgent++;\n", ""),
        ("what a full message covers explains an urgent one", "\t\t\tpass->urgent++;\n\t\t}\n",
         "\t\t}\n\t\tpass->urgent++;\n"),
        ("the head passes what was taken behind it", "if (idx == ooo->head) {",
         "if (idx == ooo->head || 1) {"),
        ("the head stays before what is taken there", "if (idx == ooo->head) {", "if (0) {"),
        ("what was taken early is not remembered", "\t\t\t__set_bit(idx, ooo->handled);", ""),
        ("new entries before old ones",
         "\tnvme_ooo_reap_held(ooo, ops, queue, all, full_tail, &pass);\n"
         "\tnvme_ooo_reap_new(ooo, ops, queue, all, full_tail, &pass);",
         "\tnvme_ooo_reap_new(ooo, ops, queue, all, full_tail, &pass);\n"
         "\tnvme_ooo_reap_held(ooo, ops, queue, all, full_tail, &pass);"),
        ("a doubt takes new entries", "\tnvme_ooo_reap_held(ooo, ops, queue, true, 0, &pass);",
         "\tpass = nvme_ooo_reap(ooo, ops, queue, true, 0);"),
        ("a doubt takes nothing", "\tnvme_ooo_reap_held(ooo, ops, queue, true, 0, &pass);", ""),
        ("full_tail explains nothing", "record->full_tail != ooo->full_tail", "false"),
        ("messages are not remembered", "\tooo->seq = record->seq;\n", ""),
        ("full_tail is not remembered", "\tooo->full_tail = record->full_tail;\n", ""),
        ("an urgent entry that was early explains no later message", "ooo->untold = urgent;",
         "ooo->untold = 0;"),
        ("a full message leaves doubts", "ooo->untold = urgent;\n\t\tooo->doubts = 0;",
         "ooo->untold = urgent;"),
        ("a full message leaves lies", "\t\tooo->doubts = 0;\n\t\tooo->lies = 0;\n\t\treturn true;",
         "\t\tooo->doubts = 0;\n\t\treturn true;"),
        ("messages not told are forgotten", "\turgent += ooo->untold;\n", ""),
        ("messages not told are never told",
         "urgent < messages ? 0 : min(urgent - messages, ooo->depth)", "urgent"),
        ("messages not told are those that were",
         "urgent < messages ? 0 : min(urgent - messages, ooo->depth)", "messages"),
        ("a full message that covers nothing new is no lie", "if (messages && record->full) {",
         "if (0) {"),
        ("a full message without a message is a lie", "if (messages && record->full) {",
         "if (record->full) {"),
        ("any urgent message is explained", "messages && messages <= urgent", "messages"),
        ("no message is explained", "messages && messages <= urgent", "messages <= urgent"),
        ("an urgent message needs two entries", "messages && messages <= urgent",
         "messages && messages < urgent"),
        ("an urgent message that is explained leaves doubts",
         "\t} else if (messages && messages <= urgent) {\n\t\tooo->doubts = 0;",
         "\t} else if (messages && messages <= urgent) {"),
        ("a message that is counted leaves doubts", "\tif (messages)\n\t\tooo->doubts = 0;\n", ""),
        ("a doubt where nothing is held", "\tif (!ooo->held)\n\t\treturn true;\n", ""),
        ("a message that is counted and not explained is a doubt",
         "\tif (!messages)\n\t\tooo->doubts++;", "\tooo->doubts++;"),
        ("doubts are not counted", "\tif (!messages)\n\t\tooo->doubts++;", ""),
        ("doubts are never too many", "ooo->doubts >= NVME_OOO_MAX_DOUBTS", "false"),
        ("two doubts are too many", "NVME_OOO_MAX_DOUBTS\t8", "NVME_OOO_MAX_DOUBTS\t2"),
        ("lies are never too many", "ooo->lies >= NVME_OOO_MAX_LIES", "false"),
        ("one lie is too many", "NVME_OOO_MAX_LIES\t3", "NVME_OOO_MAX_LIES\t1"),
        ("a poll leaves doubts", "\tooo->doubts = 0;\n\tooo->lies = 0;\n}\n\n#endif",
         "\tooo->lies = 0;\n}\n\n#endif"),
        ("a poll leaves lies", "\tooo->doubts = 0;\n\tooo->lies = 0;\n}\n\n#endif",
         "\tooo->doubts = 0;\n}\n\n#endif"),
    ],
    "block/blk-poll-est.h": [
        ("a wake-up ends at the aim", "est->wake >> BLK_POLL_SPARE_SHIFT", "0"),
    ],
    "userspace/wait.c": [
        ("what woke it is forgotten", "q->to_tell |= wake_up_here(q);",
         "q->to_tell = wake_up_here(q);"),
        ("a wake-up is forgotten by who asks again", "q->to_tell && (q->woken || is_news(q))",
         "q->to_tell && is_news(q)"),
        ("what was taken is told again", "    q->to_tell = false;\n", ""),
        ("a time beyond the clock's end", "timeout_ns < CINTIO_FOREVER - now ? now + timeout_ns :",
         "1 ? now + timeout_ns :"),
        ("no look, and a sleep each time", "return is_worth_a_look(q, k);", "return false;"),
        ("a reset while it goes to sleep", "ask(q, all) || cintio_is_stale(q)", "ask(q, all)"),
        ("no look before a sleep", "if (!q->spin_ns || !q->slept_short) {", "if (1) {"),
        ("a look before each sleep", "if (!q->spin_ns || !q->slept_short) {",
         "if (!q->spin_ns) {"),
        ("looks through a reset", "while (cintio_now() < until && !cintio_is_stale(q));",
         "while (cintio_now() < until);"),
        ("any sleep is short", "cintio_now() - began <= 2 * q->spin_ns;", "1;"),
        ("all are gathered", "    more = more < most ? more : most;\n", ""),
        ("gathered however seldom they come", "q->gap_ns ? q->gather_ns / q->gap_ns : 0",
         "q->gap_ns ? q->flying : 0"),
        ("less than is wanted", "return more < wanted ? wanted : more;", "return more;"),
        ("gathered for ever", "all > k ? cintio_now() + 2 * q->gather_ns : end", "end"),
        ("the rate of long ago", "        q->gap_ns = 0;      /*", "        /*"),
        ("no rate", "gap = (now - q->last_ns) / q->last_got + 1;", "gap = 1;"),
        ("more than can come", "wanted > q->flying && !step(q, CINTIO_STEP_SKIP_CLAMP) ? q->flying",
         "0 ? q->flying"),
        ("one too far", "cintio_ahead(q, q->head, k - 1)", "cintio_ahead(q, q->head, k)"),
        ("a wake-up is an interrupt", "        atomic_fetch_add(&q->wakes, 1);\n", ""),
        ("asked for again", "return q->armed && q->head.count + k == q->target;", "return false;"),
        ("asked for less", "return q->armed && q->head.count + k == q->target;",
         "return q->armed;"),
        ("a wake-up ends no wait", "!ret && !q->woken) {", "!ret) {"),
        ("a wake-up ends all waits", "    q->woken = false;\n    /*",
         "    /*"),
        ("a reset is a wake-up", "    if (!got && q->woken) {", "    if (0) {"),
        ("the fd is not emptied behind a sleep elsewhere",
         "        q->slept_elsewhere = false;\n        clear(q);",
         "        q->slept_elsewhere = false;"),
        ("armed, and not looked",
         "    if ((k && ask(q, k)) || told || cintio_is_overdue(q)) {\n        return 1;\n    }\n",
         "    if (k) { ask(q, k); }\n"),
        ("armed for none", "reachable(q, min ? min : 1)", "reachable(q, min)"),
        ("armed and reset", "    return cintio_check_stale(q, &q->error);\n", "    return 0;\n"),
        ("armed in a mode that polls", "    if (!cintio_sleeps_on_interrupt(q)) {\n        return "
         "cintio_fail", "    if (0) {\n        return cintio_fail"),
        ("emptied between look and sleep", "    if (step(q, CINTIO_STEP_LOOKED)) {",
         "    step(q, CINTIO_STEP_LOOKED);\n    {"),
        ("never emptied", "    if (n > 0 && fds[0].revents) {", "    if (0) {"),
        ("the record tells nothing", "__atomic_load_n(&q->record->full_tail, __ATOMIC_ACQUIRE) !=\n"
         "            q->told", "0"),
        ("interrupts are not counted", "        q->interrupts = interrupts;\n", ""),
        ("sleeps are not counted in poll(2)", "    q->sleeps++;\n    step(q, CINTIO_STEP_WOKEN);",
         "    step(q, CINTIO_STEP_WOKEN);"),
        ("whoever sleeps does not hear of a removal", "n > 0 && fds[1].revents", "0"),
        ("whoever is busy does not hear of a removal", "if (!ret && !(++q->looks % LOOKS)) {",
         "if (0) {"),
        ("whoever polls looks after nobody",
         "        ret = cintio_look_after(q, now);\n        if (",
         "        ret = 0;\n        if ("),
        ("a sleeper looks after nobody",
         "left <= CINTIO_WATCH_NS ? TIMED_OUT : cintio_check_alive(q)",
         "left <= CINTIO_WATCH_NS ? TIMED_OUT : 0"),
        ("no limit to polling", "if (now >= end) {", "if (0) {"),
        ("a reset is not seen by whoever polls",
         "        if (cintio_is_stale(q)) {\n            return 0;\n"
         "        }\n        if (now", "        if (now"),
        ("sleeps for all of the mean", "q->mean_ns / 2", "q->mean_ns"),
        ("sleeps from now", "until = oldest->pushed_ns + ns,", "until = cintio_now() + ns,"),
        ("sleeps through a reset", "while (!ret && !cintio_is_stale(q)) {", "while (!ret) {"),
        ("sleeps through a removal",
         "        now = cintio_now();\n        ret = cintio_look_after(q, now);\n    }\n"
         "    return ret;",
         "        now = cintio_now();\n    }\n    return ret;"),
        ("sleeps in one piece", "until > now + CINTIO_WATCH_NS ? now + CINTIO_WATCH_NS : "
         "until", "until"),
        ("sleeps a second at most", " &&\n            part == until) {", ") {"),
        ("nobody is woken", "(void)!write(q->eventfd, &one, sizeof(one));", ""),
        ("what was got at the end is lost", "return got || ret == TIMED_OUT ? (int)got : ret;",
         "return ret == TIMED_OUT ? (int)got : ret ? ret : (int)got;"),
        ("min beyond max", "    min = min < max ? min : max;\n", ""),
        ("a command takes as long as it likes", "due < end ? due : end);\n\n", "end);\n\n"),
        ("who sleeps for a time sleeps longer", "cintio_due(q) < end ? cintio_due(q) : end",
         "end"),
        ("a time that is over ends each wait",
         "return ret == TIMED_OUT && due < end && !cintio_is_overdue(q) ? 0 : ret;", "return ret;"),
        ("told before what there is",
         "if (!got && (!ret || ret == TIMED_OUT) && cintio_is_overdue(q)) {",
         "if ((!ret || ret == TIMED_OUT) && cintio_is_overdue(q)) {"),
        ("whoever is armed sleeps through it",
         "(k && ask(q, k)) || told || cintio_is_overdue(q)", "(k && ask(q, k)) || told"),
        ("interrupts are told of as one", "q->on_interrupt(q->interrupt_opaque, more);",
         "q->on_interrupt(q->interrupt_opaque, 1);"),
        ("wake-ups are told of", "q->on_interrupt(q->interrupt_opaque, more);",
         "q->on_interrupt(q->interrupt_opaque, count);"),
    ],
    "userspace/mode.c": [
        ("pointer one too far", "target = cintio_ahead(q, q->head, k);",
         "target = cintio_ahead(q, q->head, k + 1);"),
        ("pointer one too near", "target = cintio_ahead(q, q->head, k);",
         "target = cintio_ahead(q, q->head, k - 1);"),
        ("not armed", "NVME_CINT_POINTER_ARM | target.index", "target.index"),
        ("asked for before it was switched off", "    q->armed = false;\n    if (!q->pointer) {",
         "    if (!q->pointer) {"),
    ],
    "userspace/watch.c": [
        ("whoever polls does not hear of a removal", "return poll(&removal, 1, 0) > 0 ? "
         "cintio_wanted_back(q)\n                                    : cintio_check_alive(",
         "return cintio_check_alive("),
        ("a reset by another thread is a failure", "return ret == -EIO && cintio_is_stale(q) ? ",
         "return ret == -EIO && 0 ? "),
        ("looked after each time", "if (now < q->watched_ns + CINTIO_WATCH_NS) {", "if (0) {"),
        ("looked after once", "    q->watched_ns = now;", "    q->watched_ns = UINT64_MAX / 2;"),
    ],
    "userspace/due.c": [
        ("told again and again",
         "    q->slots[slot - q->slots].due_ns = 0;\n    q->timed--;\n", ""),
        ("late ones are not counted", "    q->late++;\n", ""),
        ("another one is late", "while (slot->due_ns != q->due_ns) {", "while (0) {"),
        ("due when the youngest is", "slot->due_ns && slot->due_ns < due ? slot->due_ns : due",
         "slot->due_ns ? slot->due_ns : due"),
    ],
    "userspace/reap.c": [
        ("the phase never changes", "place.phase = !place.phase;", ";"),
        ("the ring has no end", "if (index >= q->entries) {", "if (0) {"),
        ("the ring ends late", "if (index >= q->entries) {", "if (index > q->entries) {"),
        ("an identifier that is none", "id >= q->entries - 1 || !q->slots[id].busy",
         "!q->slots[id].busy"),
        ("a command that is none", "id >= q->entries - 1 || !q->slots[id].busy",
         "id >= q->entries - 1"),
        ("nothing is learned", "        learn(q, slot->pushed_ns);\n", ""),
        ("more than asked for, in order", "while (got < max && cintio_posted(q, q->head)) {",
         "while (cintio_posted(q, q->head)) {"),
        ("nothing overtakes", "(int32_t)(q->told - place.count) > 0 || q->slots[id].urgent",
         "(int32_t)(q->told - place.count) > 0"),
        ("a record covers one entry more", "(int32_t)(q->told - place.count) > 0",
         "(int32_t)(q->told - place.count) >= 0"),
        ("a record covers one entry less", "(int32_t)(q->told - place.count) > 0",
         "(int32_t)(q->told - place.count) > 1"),
        ("whoever polls waits for a record", "return q->mode < CINTIO_INTERRUPT || q->release",
         "return q->release"),
        ("what was passed over is never taken",
         "news ? q->head : q->scan", "q->scan"),
        ("taken twice", "!q->taken[at.index] && may_take(q, at)", "may_take(q, at)"),
        ("the head overtakes the scan", "if ((int32_t)(q->head.count - q->scan.count) > 0) {",
         "if (0) {"),
        ("a record is believed for ever", "q->doubts >= CINTIO_MAX_DOUBTS;", "0;"),
        ("doubts do not count", "counted ? 0 : q->doubts + 1;", "0;"),
        ("doubts stay", "counted ? 0 : q->doubts + 1;", "q->doubts + !counted;"),
        ("what nothing explains is left", "        q->release = true;\n", ""),
        ("what moved its count is all", "counted && (full || messages <= q->seen.urgent)",
         "counted"),
        ("Urgent ones explain nothing", "counted && (full || messages <= q->seen.urgent)", "full"),
        ("interrupts that were not counted", "ahead >= 0 && (full || messages)",
         "full || messages"),
        ("an interrupt is never explained", "    q->interrupted = false;\n    return",
         "    return"),
        ("released for ever", "    q->release &= !to_the_end;\n", ""),
        ("the head stays", "    while (q->taken[q->head.index]) {", "    while (0) {"),
        ("the doorbell is not rung", "if (q->head.index != before) {", "if (0) {"),
        ("the rest of the status is lost", "        .flags = NVME_MORE_OF(cqe->status),\n", ""),
        ("dword 1 is lost", "        .result_high = cqe->result_high,", "       "),
        ("a slot is not given back", "    cintio_give_slot(q, id);\n", ""),
        ("all are errors", "q->errors += done->status != 0;", "q->errors++;"),
        ("completions are not counted", "    q->completed++;\n", ""),
        ("doorbells are not counted", "        q->heads++;\n", ""),
    ],
    "userspace/queue.c": [
        ("a ring in two pieces", "if (!in_one_piece(q->mem, q->sq, sq_len) ||\n        "
         "!in_one_piece(q->mem, q->cq, cq_len)) {", "if (0) {"),
        ("one place of a full ring", "q->free[q->nr_free] = n - 1 - q->nr_free;",
         "q->free[q->nr_free] = 0;"),
        ("entries of the start before", "    memset(q->cq, 0, q->entries * sizeof(*q->cq));\n", ""),
        ("the tail of the start before", "    q->sq_tail = 0;\n", ""),
        ("outstanding since the start before", "    q->queued = q->flying = 0;\n", ""),
        ("the head of the start before",
         "    q->head = q->scan = (struct cintio_cursor) { .phase = true };\n",
         "    q->head.phase = q->scan.phase = true;\n"),
        ("reset for ever", "    q->generation = atomic_load(&q->dev->generation);\n", ""),
        ("the tail has no end", "q->sq_tail + 1 == q->entries ? 0 : q->sq_tail + 1",
         "q->sq_tail + 1"),
        ("lists of a later start", "return q->max_transfer / NVME_PAGE",
         "return q->dev->info.max_transfer / NVME_PAGE"),
        ("rung after a reset", "!cintio_is_stale(q)", "1"),
        ("the doorbell is not rung", "cintio_write32(q->dev, q->sq_doorbell, q->sq_tail);", ";"),
        ("not flying", "q->flying += q->queued;", ";"),
        ("memory stays", "    cintio_free_ring(q->dev, q->mem);\n", ""),
        ("a slot stays busy", "    slot->busy = false;\n", ""),
        ("the oldest stays", "    q->slots[slot->prev].next = slot->next;\n", ""),
        ("a time that nobody has", "    q->timed -= slot->due_ns != 0;\n", ""),
        ("what was of the command before", "    *slot = (struct cintio_slot) {\n        "
         ".prev = q->slots[ends].prev, .next = ends, .busy = true,\n    };\n",
         "    slot->prev = q->slots[ends].prev;\n    slot->next = ends;\n    slot->busy = true;\n"),
        ("times of the start before", "    q->timed = 0;\n", ""),
        ("doorbells are not counted", "        q->rings++;\n", ""),
        ("commands are not counted", "    q->pushed++;\n", ""),
        ("the oldest is the youngest", "next = slot ? slot->next : q->slots[ends].next;",
         "next = slot ? slot->prev : q->slots[ends].prev;"),
    ],
    "userspace/command.c": [
        ("another controller's memory", "piece->mem->space != q->dev->space", "0"),
        ("pieces at NULL", "io->nr_vecs && !io->vec", "0"),
        ("any hint", "io->hints & ~(CINTIO_URGENT | CINTIO_BARRIER)", "0"),
        ("a buffer in no memory", "if (!piece->mem) {", "if (0) {"),
        ("a list for all commands", "(q->prp_lists +\n                                  "
         "c->sqe.cid * cintio_list_size(q))", "(q->prp_lists)"),
        ("descriptors for all commands", "(q->prp_lists + c->sqe.cid *\n"
         "                                                cintio_list_size(q))", "(q->prp_lists)"),
        ("a second page is a list", "if (n == 2) {", "if (0) {"),
        ("a list for two pages", "} else if (n > 2) {", "} else if (n > 3) {"),
        ("a piece ends before its last page", "return next < end ? next : end;", "return end;"),
        ("gaps are no gaps", "c->by_sgl = !fits_pages(c);", "c->by_sgl = false;"),
        ("all have gaps", "c->by_sgl = !fits_pages(c);", "c->by_sgl = q->info->sgl;"),
        ("only beginnings have gaps", "(end | (uintptr_t)c->vec[i].buf)",
         "((uintptr_t)c->vec[i].buf)"),
        ("only ends have gaps", "(end | (uintptr_t)c->vec[i].buf)", "(end)"),
        ("SGLs for all", "!c->by_sgl || q->info->sgl ? 0 :", "1 ? 0 :"),
        ("more than the list has room for", "if (n == room) {", "if (0) {"),
        ("one less than it has room for", "if (n == room) {", "if (n + 1 == room) {"),
        ("nothing lies beside another", "if (n && list[n - 1].addr + list[n - 1].len == iova) {",
         "if (0) {"),
        ("one descriptor is a list", "first = n == 1 ? list[0]", "first = 0 ? list[0]"),
        ("a list is data", "        .type = NVME_SGL_LAST_SEGMENT,\n", ""),
        ("nothing says that there are SGLs", "    c->sqe.flags |= NVME_SQE_SGL;\n", ""),
        ("the identifier of what was refused is lost", "        cintio_give_slot(q, id);\n", ""),
        ("both hints are Urgent", "(c->sqe.flags & (NVME_CINT_FLAGS_URGENT |\n"
         "                                    NVME_CINT_FLAGS_BARRIER)) ==\n"
         "                   NVME_CINT_FLAGS_URGENT", "c->sqe.flags & NVME_CINT_FLAGS_URGENT"),
        ("hints without the capability", "!(q->info->cint_caps & NVME_CINT_CAP_HINTS)", "0"),
        ("hints exchanged", "hints & CINTIO_URGENT ? NVME_CINT_FLAGS_URGENT",
         "hints & CINTIO_BARRIER ? NVME_CINT_FLAGS_URGENT"),
        ("the end of the namespace", "io->blocks > ns.blocks - io->lba",
         "io->blocks - 1 > ns.blocks - io->lba"),
        ("too much at once", "!io->blocks || c->len > q->max_transfer", "!io->blocks"),
        ("as much as a later start allows", "c->len > q->max_transfer",
         "c->len > q->dev->info.max_transfer"),
        ("pieces of too much", "if (c->vec[i].len > q->max_transfer - sum) {", "if (0) {"),
        ("pieces of less", "if (sum != c->len) {", "if (sum > c->len) {"),
        ("pieces of more", "if (sum != c->len) {", "if (sum < c->len) {"),
        ("half a dword", "!piece->len || piece->len % 4", "!piece->len"),
        ("nothing is a piece", "!piece->len || piece->len % 4", "piece->len % 4"),
        ("beyond its memory", "piece->len > piece->mem->len - offset", "0"),
        ("not aligned", "(uintptr_t)piece->buf % 4) {", "0) {"),
        ("high half of the address", "c->sqe.cdw11 = io->lba >> 32;", ";"),
        ("one block more", "(io->blocks - 1) |", "io->blocks |"),
        ("past no cache", "(io->flags & CINTIO_FUA ? NVME_RW_FUA : 0)", "0"),
        ("flags that nobody knows", "io->flags & ~CINTIO_FUA || ", ""),
        ("a flush past caches", "|| (io->flags && !moves)", ""),
        ("reserved fields", "if (io->reserved[i]) {", "if (0) {"),
        ("the usual namespace for all", "    if (io->ns) {", "    if (0) {"),
        ("a flush of the usual one", "    c->sqe.opcode = NVME_CMD_FLUSH;\n    c->sqe.nsid = "
         "ns.nsid;", "    c->sqe.opcode = NVME_CMD_FLUSH;\n    c->sqe.nsid = q->info->nsid;"),
        ("no namespace will do", "return ns->block_size ? 0 :", "return 1 ? 0 :"),
        ("a raw one says where", "    c->sqe.prp1 = c->sqe.prp2 = 0;\n", ""),
        ("a raw one says how", "    c->sqe.flags &= ~NVME_SQE_PSDT;\n", ""),
        ("a raw one has data", "    } else if (!io->len) {\n        c->nr = 0;\n", ""),
        ("raw pieces of no bytes", "            c->len += io->vec[i].len;\n", ""),
        ("a raw one without an entry", "if (!io->sqe) {", "if (0) {"),
        ("the last one is due first", "q->timed && q->due_ns < slot->due_ns ? q->due_ns",
         "0 ? q->due_ns"),
        ("the first one ever is due first", "q->timed && q->due_ns < slot->due_ns ? q->due_ns",
         "q->due_ns < slot->due_ns ? q->due_ns"),
        ("a time beyond the clock's end", "c->io->timeout_ns < CINTIO_FOREVER - now ?", "1 ?"),
        ("another one is aborted", "while (slot && slot->cookie != cookie) {",
         "while (slot && slot->cookie == cookie) {"),
        ("aborted before it is known", "    ret = cintio_ring(q);\n", "    ret = 0;\n"),
        ("aborted in another queue", " << 16 | q->id;", " << 16;"),
        ("none is aborted", "!(not_aborted & 1)", "0"),
        ("what is refused is aborted", "    if (ret > 0) {", "    if (0) {"),
    ],
    "userspace/namespace.c": [
        ("blocks of any size",
         "if (shift < MIN_LBADS || shift > MAX_LBADS ||\n        1u << shift > "
         "dev->info.max_transfer) {", "if (0) {"),
        ("blocks of less than 512 bytes", "shift < MIN_LBADS || ", ""),
        ("blocks larger than a command moves",
         " ||\n        1u << shift > dev->info.max_transfer", ""),
        ("metadata is none", "return !(format & 0xffff) ? 0 :", "return 1 ? 0 :"),
        ("no blocks are a namespace", "if (!ns->blocks) {", "if (0) {"),
        ("an invalid number is another error", "ret > 0 && ret != NVME_SC_INVALID_NAMESPACE",
         "ret > 0"),
        ("a refusal is no namespace", "ret > 0 && ret != NVME_SC_INVALID_NAMESPACE", "0"),
        ("more than fit", "if (n < max) {", "if (1) {"),
        ("one is opened again and again",
         "if (is_same(&space->ns, ns)) {", "if (0) {"),
        ("a namespace that has changed", "a->blocks == b->blocks", "true"),
        ("all are one", "if (is_same(&space->ns, ns)) {", "if (1) {"),
        ("what was opened stays", "        free(space);\n", "        ;\n"),
    ],
    "userspace/group.c": [
        ("what is removed stays", "epoll_ctl(group->epoll, EPOLL_CTL_DEL, fd, NULL)", "0"),
        ("a file that was closed stays",
         "    if (epoll_ctl(group->epoll, EPOLL_CTL_DEL, fd, NULL)) {",
         "    epoll_ctl(group->epoll, EPOLL_CTL_DEL, fd, NULL);\n    if (0) {"),
        ("who begins anew forgets the others", "        watch(group, m);    /*", "        /*"),
        ("one queue twice", "ret == -EEXIST ?", "0 ?"),
        ("nobody is armed", "m->ready.queue ? cintio_queue_arm(m->ready.queue, min) : 0", "0"),
        ("errors are kept back", "ret < 0 ? ret : 0;", "0;"),
        ("a wake-up is for ever", "            (void)!read(group->wake, &count, sizeof(count));\n",
         ""),
        ("a wake-up wakes nobody", "            *woken = true;\n", ""),
        ("events are not said", "            m->ready.events |= events[i].events;\n", ""),
        ("events of before", "m->is_ready ? m->ready.events : 0;", "m->ready.events;"),
        ("an event that is told once is lost", "ret != 0 || is_told_once(m);", "ret != 0;"),
        ("what was said is said again", "            m->is_ready = false;\n", ""),
        ("the same ones come first each time", "        begin_behind(group, last);\n", ""),
        ("who comes first has nobody behind him", "    end->next = group->members;\n", ""),
        ("more than there is room for", "m && n < max;", "m;"),
        ("a lost message is lost", "            look(group);\n", ""),
        ("time does not pass", "!woken && now < end);", "!woken);"),
        ("room for none", "    if (!max) {", "    if (0) {"),
        ("a group sleeps through a command's time",
         "        if (m->ready.queue && cintio_due(m->ready.queue) < *end) {", "        if (0) {"),
    ],
    "userspace/pairs.c": [
        ("a queue without a vector", "!options->no_interrupts && dev->vectors < 2", "0"),
        ("asked for before the policy changed", "        cintio_set_pointer(q);      /*",
         "        /*"),
        ("a queue that failed keeps its rings", "    if (ret) {\n        withdraw(*out);",
         "    if (ret) {\n        ;"),
        ("a submission queue is left",
         "    delete_ring(q, NVME_ADMIN_DELETE_SQ, &q->has_sq);\n", ""),
        ("a completion queue is left",
         "        delete_ring(q, NVME_ADMIN_DELETE_CQ, &q->has_cq);\n",
         "        q->has_cq = false;\n"),
        ("a completion queue goes before its submission queue", "if (!q->has_sq) {", "{"),
        ("a ring that is there is not known", "*has = !ret || atomic_load(&q->unanswered);",
         "*has = atomic_load(&q->unanswered);"),
        ("a ring that may be there is not known",
         "*has = !ret || atomic_load(&q->unanswered);", "*has = !ret;"),
        ("a ring that was refused is there",
         "*has = !ret || atomic_load(&q->unanswered);", "*has = true;"),
        ("rings that are not there are deleted",
         "*has ? cintio_command(q->dev, q, &sqe, NULL, 0, NULL, NULL)\n                      : 0",
         "cintio_command(q->dev, q, &sqe, NULL, 0, NULL, NULL)"),
        ("no answer is let go", "*has = status && status", "*has = status > 0 && status"),
        ("a refusal is let go", "*has = status && status != NVME_SC_INVALID_QUEUE;",
         "*has = status < 0;"),
        ("what is not there is never let go", "*has = status && status != NVME_SC_INVALID_QUEUE;",
         "*has = status;"),
        ("what the controller has is freed", "    return !q->has_cq;\n", "    return true;\n"),
        ("what may be carried out yet is nobody's",
         "    if (atomic_load(&q->unanswered)) {\n        return false;\n    }\n", ""),
        ("answers about what is gone", "        cintio_disown(dev, q);\n", ""),
        ("queues are made while records are switched", "    if (dev->switching) {", "    if (0) {"),
        ("what is kept is not known",
         "    atomic_fetch_add(&dev->held, !gone - q->held);\n", ""),
        ("what is let go of is kept for ever", "    q->held = !gone;\n", ""),
        ("data of a queue that was let go of is kept", "    cintio_free_kept(dev);\n", ""),
        ("what was let go of late is kept", "    cintio_let_go_of_destroyed(dev);\n", ""),
        ("queues in use are let go of", "q && q->destroyed && !q->leaving", "q && !q->leaving"),
        ("a queue is made without answers", "    int ret = cintio_check_answers(dev, err);\n",
         "    int ret = 0;\n"),
        ("the eventfd stays", "dev->ops->notify(dev, q->id, -1, NULL);", ";"),
        ("not marked as destroyed", "    q->destroyed = q->leaving = true;\n",
         "    q->leaving = true;\n"),
        ("the identifier stays taken", "    dev->queues[q->id - 1] = NULL;\n", ""),
        ("rings of another start are deleted", "    if (cintio_is_stale(q)) {", "    if (0) {"),
        ("a policy for a queue before the reset", "ret = cintio_check_stale(q, err);", "ret = 0;"),
        ("no interrupts", "(q->irq ? (uint32_t)q->id << 16 | NVME_CQ_IEN : 0)", "0"),
        ("the vector is another's", "(uint32_t)q->id << 16 | NVME_CQ_IEN", "NVME_CQ_IEN"),
        ("one entry more", "(uint32_t)(q->entries - 1) << 16 | q->id,\n        .cdw11 = (q->irq",
         "(uint32_t)q->entries << 16 | q->id,\n        .cdw11 = (q->irq"),
        ("a queue of one entry", "options->entries == 1 ||", ""),
        ("too many entries", "|| options->entries > most", ""),
        ("the policy is not learned at creation", "    return ret ? ret : learn_policy(q, err);\n",
         "    return ret;\n"),
        ("the policy is not learned when it changes", "    if (!ret) {\n        ret = "
         "learn_policy(q, err);\n    }\n    cintio_leave", "    cintio_leave"),
        ("coalesced without the pointer", "q->mode == CINTIO_COALESCED && !q->pointer", "0"),
        ("a mode that cannot be leaves its queue", "    if (ret) {\n        "
         "cintio_queue_destroy(q);", "    if (ret) {\n"),
        ("a policy that is none", "policy > CINTIO_POLICY_POINTER", "0"),
        ("policies of a plain one", "policy != CINTIO_POLICY_OWN && !info->cint_caps", "0"),
        ("the pointer is not chosen", "options->mode == CINTIO_COALESCED ? "
         "CINTIO_POLICY_POINTER\n                                             : options->policy",
         "0 ? 0 : options->policy"),
        ("the pointer is always chosen", "options->policy == CINTIO_POLICY_OWN && pointer &&",
         "pointer &&"),
        ("the pointer is chosen for all modes", "options->mode == CINTIO_COALESCED ? "
         "CINTIO_POLICY_POINTER", "1 ? CINTIO_POLICY_POINTER"),
        ("the pointer where there is none",
         "bool pointer = q->info->cint_caps & NVME_CINT_CAP_POINTER;", "bool pointer = true;"),
        ("the next policy is chosen", "change_policy(q, policy_for(q, options) - 1, err)",
         "change_policy(q, policy_for(q, options), err)"),
        ("no policy of one's own changes", "if (ret || policy == CINTIO_POLICY_OWN) {",
         "if (ret) {"),
        ("statistics of any size", "now.size = now.size < sizeof(now) ? now.size : sizeof(now);",
         "now.size = sizeof(now);"),
        ("statistics without a size", "now.size = statistics->size ? statistics->size : "
         "CINTIO_STATISTICS_0_1;", "now.size = statistics->size;"),
    ],
    "userspace/admin.c": [
        ("answers are not collected", "    while (cintio_reap(dev->admin, &done, 1)) {",
         "    while (0) {"),
        ("an answer to nobody is somebody's", "if (done.cookie & GIVEN_UP) {", "if (0) {"),
        ("what was given up is for ever", "            let_owner_go(dev, done.cookie >> 1);\n", ""),
        ("an answer changes nothing", "        dev->unheard = 0;\n", ""),
        ("nothing comes back",
         "            memcpy(call->buf, bounce_of(dev, call->id), call->len);\n", ""),
        ("all have one buffer", "+ id * cintio_list_size(dev->admin)", ""),
        ("a reset waits for a command", "    return !atomic_load(&dev->resets) ? 0 :",
         "    return 1 ? 0 :"),
        ("commands to what is to stop", "if (ret || !(running || silent)) {",
         "if (ret || !silent) {"),
        ("a silent controller is asked for ever", "dev->unheard >= MAX_UNHEARD", "false"),
        ("one that is slow ends all", "dev->unheard >= MAX_UNHEARD", "dev->unheard >= 1"),
        ("queues beside one that may come", "        silent |= dev->owners[i] != NULL;\n", ""),
        ("data goes nowhere", "        memcpy(bounce, call->buf, call->len);\n", ""),
        ("the second page is forgotten", "sqe.prp2 = call->len > NVME_PAGE ?", "sqe.prp2 = 0 ?"),
        ("whoever gives up is waited for",
         "        dev->admin->slots[call->id].cookie = call->id << 1 | GIVEN_UP;\n", ""),
        ("nobody's matter", "        dev->owners[call->id] = owner;\n", ""),
        ("given up and not counted", "            atomic_fetch_add(&owner->unanswered, 1);\n", ""),
        ("data beyond two pages", "    if (len > BOUNCE) {", "    if (0) {"),
        ("no result", "        *result = call.done.result;\n", "        ;\n"),
        ("silent after a reset", "    dev->unheard = 0;\n}", "}"),
    ],
    "userspace/identify.c": [
        ("pointers all at one place", "cint.regs_stride < sizeof(uint32_t) || ", ""),
        ("cint stays after a reset", "    dev->info.cint_caps = 0;\n", ""),
        ("no queues without vectors", "dev->vectors < 2 ? queues\n", "0 ? queues\n"),
        ("registers beyond the mapping", "|| last > dev->bar_size", ""),
        ("no size of transfers", "mdts && mdts < 9 ?", "0 ?"),
        ("pages larger than 4 KiB", "if (NVME_CAP_MPSMIN(cap)) {", "if (0) {"),
        ("more queues than vectors", "least(queues, dev->vectors - 1)", "queues"),
        ("more queues than were asked for", "queues = least(queues, dev->options.queues);", ";"),
        ("more queues than doorbells", "queues = least(queues, pairs_with_doorbells(dev) - 1);",
         ";"),
        ("one queue more than doorbells", "pairs_with_doorbells(dev) - 1",
         "pairs_with_doorbells(dev)"),
        ("no doorbells at all", "if (pairs_with_doorbells(dev) < 2) {", "if (0) {"),
        ("doorbells 4 bytes apart", "dev->doorbell_shift = 2 + NVME_CAP_DSTRD(cap);",
         "dev->doorbell_shift = 2;"),
        ("a namespace where none is wanted", "if (dev->info.nsid == CINTIO_NO_NAMESPACE) {",
         "if (0) {"),
        ("all have SGLs", "dev->info.sgl = sgls & 3;", "dev->info.sgl = true;"),
    ],
    "userspace/log.c": [
        ("a log that has grown", "log_len(&head) == len", "1"),
        ("a log that grows for ever", "tries < MAX_LOG_TRIES", "1"),
        ("a log page without sizes", "head->header_size >= sizeof(*head) &&", "1 &&"),
        ("the log ends early", "at < len && !ret; at += LOG_PIECE",
         "at < LOG_PIECE && !ret; at += LOG_PIECE"),
    ],
    "userspace/controller.c": [
        ("whatever does not stop is taken to have stopped",
         "    atomic_store(&dev->running, ret != 0);\n", ""),
        ("a reset is for ever", "    atomic_fetch_sub(&dev->resets, 1);\n", ""),
        ("a reset leaves status records on", "        dev->keeps_records = false;\n", ""),
        ("a reset keeps what was destroyed", "        cintio_let_go_of_destroyed(dev);\n", ""),
        ("sleepers sleep through a reset", "            cintio_queue_wake(dev->queues[i]);\n", ""),
        ("woken before the reset is known", "    atomic_fetch_add(&dev->generation, 1);\n", ""),
        ("a controller that is closed runs on", "        disable(dev, NULL);\n", ""),
        ("no look after the time to start or stop", "        if (late) {\n            return "
         "cintio_fail(err, -ETIMEDOUT, \"%s did not %s", "        if (cintio_now() > end) {\n"
         "            return cintio_fail(err, -ETIMEDOUT, \"%s did not %s"),
        ("a controller that failed is waited for", "(csts & NVME_CSTS_CFS) && ready", "0"),
        ("a removed controller is waited for",
         "        if (csts == NVME_GONE) {\n            return "
         "cintio_fail(err, -ENODEV, \"%s was removed\",\n                               "
         "dev->info.address);\n        }\n        if (!(csts", "        if (!(csts"),
        ("what is kept is never freed", "    cintio_free_kept(dev);\n    if (dev->ops->release) {",
         "    if (dev->ops->release) {"),
        ("what ran to the end keeps its memory", "    atomic_store(&dev->running, false);\n", ""),
        ("what was held to the end keeps its data", "    atomic_store(&dev->held, 0);\n", ""),
        ("namespaces are never freed", "    cintio_forget_namespaces(dev);\n", ""),
        ("no notice of a shutdown", "        notify_shutdown(dev);\n", ""),
        ("notice to one that is gone", "atomic_load(&dev->running) || cintio_alive(dev, NULL)",
         "atomic_load(&dev->running)"),
        ("a shutdown is waited for for ever", "(csts & NVME_CSTS_CFS) || late ||",
         "(csts & NVME_CSTS_CFS) ||"),
        ("a shutdown takes all of its time", "(csts & NVME_CSTS_SHST) == NVME_CSTS_SHST_DONE",
         "0"),
    ],
    "userspace/info.c": [
        ("what a reset has learned is kept back", "    atomic_store(&dev->learned, now);\n",
         "    if (!before) { atomic_store(&dev->learned, now); }\n"),
    ],
    "userspace/records.c": [
        ("records of before", "        memset(dev->records->addr, 0, dev->records->len);\n",
         ""),
        ("status records leave their memory", "return dev->records ? 0 :", "return 0 ? 0 :"),
        ("status records under queues", "        busy |= dev->queues[i] != NULL;\n", ""),
        ("records are switched for ever", "    end_switch(dev);\n", ""),
    ],
    "userspace/caller.c": [
        ("bytes of a later version", "        if (bytes[i]) {", "        if (0) {"),
        ("less than the first version", "    if (size < first) {", "    if (0) {"),
        ("more than is known is taken", "size < known ? size : known", "size"),
        ("no size is nothing", "size = size ? size : first;", ";"),
    ],
    "userspace/dma.c": [
        ("freed under a controller that runs",
         "atomic_load(&dev->running) || atomic_load(&dev->held)", "atomic_load(&dev->held)"),
        ("freed under a queue that the controller has",
         "atomic_load(&dev->running) || atomic_load(&dev->held)", "atomic_load(&dev->running)"),
        ("rings freed under a controller that runs",
         "give_back(dev, mem, atomic_load(&dev->running));", "give_back(dev, mem, false);"),
        ("what was kept is kept for ever", "    for (; mem; mem = next) {",
         "    for (; 0; mem = next) {"),
        ("the last one kept is the only one", "mem->next = atomic_load(&dev->kept);",
         "mem->next = atomic_exchange(&dev->kept, NULL), mem->next = NULL;"),
        ("what is given back stays mapped", "    dev->ops->unmap(dev, mem);\n    release(",
         "    release("),
    ],
    "userspace/places.c": [
        ("a range within another ends the search",
         "places->at[i].iova > at && places->at[i].iova - at >= len",
         "places->at[i].iova - at >= len"),
        ("a range within another moves back", "at = end > at ? end : at;", "at = end;"),
        ("behind less than a page", "end = page_up(places->at[i].iova + places->at[i].len);",
         "end = places->at[i].iova + places->at[i].len;"),
        ("a gap that is just enough is none", "places->at[i].iova - at >= len",
         "places->at[i].iova - at > len"),
        ("a gap that is too small", "places->at[i].iova - at >= len",
         "places->at[i].iova - at + NVME_PAGE >= len"),
        ("no order", "places->at[i - 1].iova > start", "0"),
        ("the last byte is not clear", "end - start + 1", "end - start"),
        ("all places kept clear", "CINTIO_MAX_MAPS / 2", "CINTIO_MAX_MAPS"),
        ("more than there are", "if (places->nr == CINTIO_MAX_MAPS) {", "if (0) {"),
        ("none is left", "    places->nr--;\n", ""),
    ],
    "userspace/users.c": [
        ("any storage is NVMe", "class >> 8 == NVME_CLASS", "class >> 16 == NVME_CLASS >> 8"),
        ("any address", "!is_address(address) || ", ""),
        ("no partitions", "ret = add(nodes, path, entry->d_name, true, true);", ""),
        ("no paths", "&end) == 3) {\n        return !name[end];",
         "&end) == 3) {\n        return false;"),
        ("no generic file", "return ret ? ret : add(nodes, GENERIC, generic, false, false);",
         "return ret;"),
        ("no controller", "int ret = add(opaque, at, name, false, false);", "int ret = 0;"),
        ("no UIO", "return ret ? ret : for_each(path, collect_uio, nodes);", "return ret;"),
        ("files by their numbers alone", "nodes->at[i].block == block && ", ""),
        ("mounts by their number alone", "if (!node && rest && ", "if (0 && "),
        ("mounts by their source alone",
         "node = find(&search->nodes, true, makedev(major, minor));", "node = NULL;"),
        ("no mounts", "int ret = find_mount(search);", "int ret = 0;"),
        ("no swap", "    ret = ret ? ret : find_swap(search);\n", ""),
        ("no holders", "    ret = ret ? ret : find_holders(search);\n", ""),
        ("no loops", "    ret = ret ? ret : for_each(BLOCK, find_loop, search);\n", ""),
        ("no other paths", "    ret = ret ? ret : for_each(CONTROLLERS, find_paths, search);\n",
         ""),
        ("no processes", 'return ret ? ret : for_each("/proc", find_process, search);',
         "return ret;"),
        ("no threads", "return ret ? ret : for_each(path, find_thread, search);", "return ret;"),
        ("one's own path is another", "name, name)) {\n            return 0;",
         "name, name)) {\n            break;"),
        ("any other file of sysfs", 'at && !strncmp(at + strlen(address), "/resource", 9)', "at"),
        ("any function's registers", "const char *at = strstr(target, address);",
         'const char *at = strstr(target, "/resource");\n\n'
         "    at = at ? at - strlen(address) : NULL;"),
        ("not for oneself alone", "O_RDONLY | O_EXCL |", "O_RDONLY |"),
        ("partitions are claimed", " && !nodes->at[i].partition", ""),
        ("held by whom is not said", "fd < 0 && errno == EBUSY", "0"),
        ("what cannot be opened is free",
         'if (fd < 0) {\n        return found(user, "/dev/%s does',
         'if (0) {\n        return found(user, "/dev/%s does'),
        ("claims outlive a refusal", "    if (ret) {\n        cintio_drop_claims(claims);\n    }\n",
         ""),
    ],
    "userspace/bind.c": [
        ("force is not needed", "if (!(flags & CINTIO_FORCE)) {", "if (0) {"),
        ("force is in vain", "if (!(flags & CINTIO_FORCE)) {", "if (1) {"),
        ("any flags", "if (flags & ~CINTIO_FORCE) {", "if (0) {"),
        ("any class is bound", "struct cintio_claims claims = { 0 };\n    char driver[64];\n"
         "    int ret = cintio_check_class(address, err);",
         "struct cintio_claims claims = { 0 };\n    char driver[64];\n    int ret = 0;"),
        ("unbinds from any driver", 'if (strcmp(driver, "vfio-pci")) {\n        return cintio_fail('
         'err, -EINVAL', "if (0) {\n        return cintio_fail(err, -EINVAL"),
        ("who drives it loses it", "        return 0;   /* and", "        ;   /* and"),
        ("a mount may come between", '    int ret = hand_to(address, "vfio-pci", err);\n',
         "    int ret;\n\n    cintio_drop_claims(claims);\n"
         '    ret = hand_to(address, "vfio-pci", err);\n'),
        ("the disk is held for ever", "    cintio_drop_claims(claims);\n    if (ret) {",
         "    if (ret) {"),
        ("what was not taken has no driver", '    hand_to(address, "\\n", NULL);\n', ""),
    ],
    "userspace/vfio.c": [
        ("a child keeps the device", "        close_device(vfio);\n        vfio->dev->inherited",
         "        vfio->dev->inherited"),
        ("a child keeps the group", "        close_group(group);\n        group->path",
         "        group->path"),
        ("a child is in its parent's group", "        group->path[0] = '\\0';", "        "),
        ("a child has the registers", "        vfio->dev->bar = NULL;", "        "),
        ("pages go before the device", "int moved = *fd > other ? *fd :", "int moved = 1 ? *fd :"),
        ("opened twice", "if (other != vfio && !other->dev->inherited &&", "if (0 &&"),
        ("the first to close ends the group", "if (!--group->users) {",
         "if (--group->users || 1) {"),
        ("no group is found again", "if (!strcmp(old->path, group->path)) {", "if (0) {"),
        ("no fewer vectors", "        ret = set_irqs(vfio, VFIO_PCI_MSIX_IRQ_INDEX, 0, "
         "dev->vectors, fds);\n    }\n    ret = ret > 0", "    }\n    ret = ret > 0"),
        ("too few vectors are enough", "ret = ret > 0 ? -ENOSPC : ret;\n    return ret ? "
         'cintio_fail(err, ret, "%u MSI-X', "ret = ret > 0 ? 0 : ret;\n    return ret ? "
         'cintio_fail(err, ret, "%u MSI-X'),
    ],
}


def sources_in(directory: Path) -> tuple[str, ...]:
    """The C files of a directory, as `MUTANTS` names them: with the directory."""
    return tuple(f"{directory.name}/{path.name}" for path in sorted(directory.glob("*.c")))


ENGINE = sources_in(ROOT / "hw/nvme/coalesce")
MODEL = ("model.c", "model-auto.c", "model-cint.c", "model-storm.c", "model-vic.c", "model-waits.c")
RANDOM = ("test-random.c", *MODEL, "laws.c", "random.c")
TUNE = ("test-tune.c", *MODEL)
STORM = ("test-storm.c", "sim.c", "rival-storm.c")


@dataclass(frozen=True)
class Tests:
    """What runs for a file: the sources of each test, and of what they test."""

    tests: tuple[tuple[str, ...], ...]
    sources: tuple[str, ...]


MODEL_TESTS = {
    "model/arb.c": Tests((("test-arb.c", "model-arb.c"),), ("model/arb.c",)),
    "model/media.c": Tests((("test-media.c",),), ("model/media.c",)),
}
ENGINE_TESTS = Tests((("test-rules.c", "sim.c"), ("test-cint.c", "sim.c"),
                      ("test-kick.c", "sim.c"), ("test-vic.c", "sim.c"), TUNE, STORM, RANDOM,
                      ("test-events.c", "sim.c"), ("test-any.c", "random.c"),
                      ("test-waits.c", "sim.c")), ENGINE)
# What they are for, and the random streams where a model knows them.
OWN_TESTS = {
    "coalesce/waits.c": Tests((("test-waits.c", "sim.c"),
                               ("test-adversary.c", "sim.c", "random.c"), RANDOM), ENGINE),
    "coalesce/price.c": Tests((("test-price.c", "sim.c", "random.c", "../../replay/optimal.c"),
                               ("test-any.c", "random.c")), ENGINE),
}
# A file of the kernel is a header, its tests a program that includes both.
KERNEL_TESTS = {"drivers/nvme/host/ooo.h": "test-ooo.c", "block/blk-poll-est.h": "test-poll.c"}
DRIVER = sources_in(ROOT / "userspace")
DRIVER_TESTS = ("test-command.c", "test-hostile.c", "test-userspace.c", "test-reap.c",
                "test-wait.c")
# Tests that include what they test: their sources, and all that they include.
BIND = (("test-bind.c", "tree.c"), ("userspace/bind.c", "userspace/users.c"))
INCLUDED = {**dict.fromkeys(BIND[1], BIND),
            "userspace/vfio.c": (("test-vfio.c",), ("userspace/vfio.c",))}
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def glib() -> list[str]:
    """How to compile and link against glib."""
    words = ["pkg-config", "--cflags", "--libs", "glib-2.0"]
    return shlex.split(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def compile_to(source: Path, place: Path, flags: list[str]) -> Path:
    """The object of a source file."""
    target = place / f"{source.stem}.o"
    subprocess.run(["gcc", "-w", "-O1", *flags, f"-I{UNIT}", f"-I{ROOT / 'hw/nvme/coalesce'}",
                    f"-I{ROOT / 'hw/nvme/model'}", "-c", source, "-o", target], check=True)
    return target


def passes(binary: Path) -> bool:
    """Whether a test ends well, and at all."""
    try:
        ran = subprocess.run([binary, "--tap"], timeout=120, check=False,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return False
    return ran.returncode == 0


def pass_together(objects: list[Path], place: Path, flags: list[str]) -> bool:
    """Whether the test that these objects make passes."""
    binary = place / "test"
    subprocess.run(["gcc", *objects, "-o", binary, *flags, "-lm"], check=True)
    return passes(binary)


def take(name: str, output: Path) -> None:
    """A file that the series of kernel patches adds."""
    subprocess.run([sys.executable, UNIT / "kernel/take.py", ROOT / "guest-patches/6.12/series",
                    name, output], check=True)


def original_of(name: str) -> str:
    """The file as it is."""
    if name in KERNEL_TESTS:
        with tempfile.TemporaryDirectory(prefix="cint-mutant-") as place:
            taken = Path(place) / "original"
            take(name, taken)
            return taken.read_text("utf-8")
    return ((ROOT if name in DRIVER else ROOT / "hw/nvme") / name).read_text("utf-8")


class Bench:
    """The tests of one file, compiled but for that file."""

    def __init__(self, name: str, place: Path) -> None:
        """Compile them."""
        found = {**MODEL_TESTS, **OWN_TESTS}.get(name, ENGINE_TESTS)
        self.source = ROOT / "hw/nvme" / name
        self.place = place
        # The engine's tests are many, and its copies of queues no news to sanitizers.
        self.flags = [*(SANITIZE if name in MODEL_TESTS else ()), *glib()]
        others = [compile_to(ROOT / "hw/nvme" / other, place, self.flags)
                  for other in found.sources if other != name]
        done: dict[str, Path] = {}
        for test in found.tests:
            for part in test:
                done[part] = done.get(part) or compile_to(UNIT / part, place, self.flags)
        self.objects = [[*(done[part] for part in test), *others] for test in found.tests]

    def survives(self, text: str) -> bool:
        """Whether all tests pass with `text` in the file's place."""
        # Beside the original, for what it includes.
        mutant = self.place / "mutant.c"
        mutant.write_text(text.replace('#include "../', f'#include "{self.source.parent}/../'),
                          encoding="utf-8")
        changed = compile_to(mutant, self.place, self.flags)
        return all(pass_together([*objects, changed], self.place, self.flags)
                   for objects in self.objects)


class HeaderBench:
    """The tests of a model's header, all compiled anew with each mutant."""

    def __init__(self, name: str, place: Path) -> None:
        """Copy what includes the header to where the mutants will be."""
        found = MODEL_TESTS[name.replace(".h", ".c")]
        self.place, self.header = place, place / Path(name).name
        # The directory of the mutant comes before that of the original.
        self.flags = [f"-I{place}", *SANITIZE, *glib()]
        originals = [*(ROOT / "hw/nvme" / source for source in found.sources),
                     *(UNIT / part for test in found.tests for part in test)]
        self.sources = [Path(shutil.copy(original, place)) for original in originals]

    def survives(self, text: str) -> bool:
        """Whether the tests pass with `text` in the header's place."""
        self.header.write_text(text, encoding="utf-8")
        objects = [compile_to(source, self.place, self.flags) for source in self.sources]
        return pass_together(objects, self.place, self.flags)


DRIVER_FLAGS = ("-D_GNU_SOURCE", "-DCINTIO_TEST", "-pthread", f"-I{ROOT / 'userspace'}", *SANITIZE)


class IncludedBench:
    """A test of the user-space driver that includes the file, compiled anew with each mutant."""

    def __init__(self, name: str, place: Path) -> None:
        """Compile the rest."""
        (test, *more), included = INCLUDED[name]
        self.place, self.mutant, self.test = place, place / Path(name).name, UNIT / test
        # The directory of the mutant comes before that of the original.
        self.flags = [f"-I{place}", *DRIVER_FLAGS, *glib()]
        self.objects = [compile_to(source, place, self.flags) for source in (
            *(UNIT / other for other in more),
            *(ROOT / other for other in DRIVER if other not in included))]

    def survives(self, text: str) -> bool:
        """Whether the test passes with `text` in the file's place."""
        self.mutant.write_text(text, encoding="utf-8")
        test = compile_to(self.test, self.place, self.flags)
        return pass_together([test, *self.objects], self.place, self.flags)


class DriverBench:
    """The tests of the user-space driver, compiled but for one of its files."""

    def __init__(self, name: str, place: Path) -> None:
        """Compile them."""
        self.place = place
        self.flags = [*DRIVER_FLAGS, *glib()]
        sources = [*(ROOT / "hw/nvme" / other for other in ENGINE), UNIT / "fake-nvme.c",
                   *(ROOT / other for other in DRIVER if other != name)]
        self.objects = [compile_to(source, place, self.flags) for source in sources]
        self.tests = [compile_to(UNIT / test, place, self.flags) for test in DRIVER_TESTS]

    def survives(self, text: str) -> bool:
        """Whether all tests pass with `text` in the file's place."""
        mutant = self.place / "mutant.c"
        mutant.write_text(text, encoding="utf-8")
        changed = compile_to(mutant, self.place, self.flags)
        return all(pass_together([test, *self.objects, changed], self.place, self.flags)
                   for test in self.tests)


class KernelBench:
    """The tests of a file that the series of kernel patches adds."""

    def __init__(self, name: str, place: Path) -> None:
        """Take file and tests out of the patches."""
        self.place, self.header, self.program = (
            place, place / Path(name).name, UNIT / KERNEL_TESTS[name])
        take(f"{name.removesuffix('.h')}_test.c", place / f"{Path(name).stem}_test.inc.h")

    def survives(self, text: str) -> bool:
        """Whether all tests pass with `text` in the file's place."""
        self.header.write_text(text, encoding="utf-8")
        binary = self.place / "test"
        subprocess.run(["gcc", "-w", "-std=gnu11", "-O1", *SANITIZE, f"-I{self.place}",
                        f"-I{UNIT / 'kernel'}", self.program, "-o", binary], check=True)
        return passes(binary)


def bench_of(name: str, place: Path) -> (
        Bench | HeaderBench | IncludedBench | DriverBench | KernelBench):
    """What runs the tests of a file."""
    if name in KERNEL_TESTS:
        return KernelBench(name, place)
    if name in INCLUDED:
        return IncludedBench(name, place)
    if name.endswith(".h"):
        return HeaderBench(name, place)
    return DriverBench(name, place) if name in DRIVER else Bench(name, place)


def misplaced(name: str) -> list[str]:
    """The mutants of a file whose text does not stand there once, a line each."""
    text = original_of(name)
    return [f"{name}: {what}: {text.count(before)} places to change"
            for what, before, _ in MUTANTS[name] if text.count(before) != 1]


def check(names: list[str]) -> int:
    """Look for the places of all mutants; 1 where one is missing."""
    lost = [line for name in names for line in misplaced(name)]
    print("\n".join([*lost, f"{sum(len(MUTANTS[name]) for name in names)} mutants, "
                            f"{len(lost)} without one place"]))
    return bool(lost)


def main() -> int:
    """Try all mutants of the files that match."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only look for the mutants' places")
    parser.add_argument("pattern", nargs="?", default="", help="part of a file's name")
    args = parser.parse_args()
    names = [name for name in MUTANTS if args.pattern in name]
    if args.check:
        return check(names)
    tried = survived = 0
    for name in names:
        if lost := misplaced(name):
            sys.exit("\n".join(lost))
        with tempfile.TemporaryDirectory(prefix="cint-mutant-") as place:
            bench = bench_of(name, Path(place))
            original = original_of(name)
            if not bench.survives(original):
                sys.exit(f"{name}: its tests fail as it is")
            for what, before, after in MUTANTS[name]:
                tried += 1
                if bench.survives(original.replace(before, after)):
                    survived += 1
                    print(f"survived: {name}: {what}", flush=True)
    print(f"{tried} mutants, {survived} survived")
    return bool(survived)


if __name__ == "__main__":
    sys.exit(main())
