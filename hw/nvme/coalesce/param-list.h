/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a policy can be told, a line each; nothing else knows a parameter's
 * range, default or unit. A line has the name as typed, the field of
 * CintConfig, the type, the least and the largest value and the default (of
 * an enumeration as numbers of its values, from 0), the unit (NS, MS, PER_S
 * or NONE), where vendor feature D0h has it (FIELD: in the field of the same
 * name, NONE: nowhere, else the flag NVME_CINT_FLAG_...), the values' names,
 * and what it means. The policies that read it say so in policy-list.h; what
 * none of them lists there is every policy's.
 *
 * To be included where PARAM() says what is wanted of a line. The tool reads
 * this file as text (tools/cint/device/params.py): numbers are written out.
 */
PARAM("delta", delta_ns, UINT, 0, 1000000000, 6000, NS, FIELD,
      NULL,
      "ns without a completion that end a burst (adaptive, cint, auto; "
      "cinterrupts 3.2)"),
PARAM("thr", thr, UINT, 0, 65535, 32, NONE, FIELD,
      NULL,
      "CQEs that end a burst; 0 and 1 interrupt for each (adaptive, cint, "
      "auto; cinterrupts 3.2)"),
PARAM("tune", tune, BOOL, 0, 1, 0, NONE, FIELD,
      NULL,
      "delta and thr follow the load, up to four times what is set (adaptive, "
      "cint; cinterrupts 5.2, made continuous)"),
PARAM("barrier", barrier, ENUM, 0, 2, 0, NONE, FIELD,
      VALUES("relaxed", "strict", "generation"),
      "a Barrier interrupts at its own completion; when all before it in "
      "its SQ are done; or all since the previous Barrier (cint; "
      "cinterrupts 3.4)"),
PARAM("ooo", ooo, BOOL, 0, 1, 1, NONE, OOO,
      NULL,
      "Urgent entries get interrupts of their own class where the driver "
      "reads status records (cint; cinterrupts 3.5)"),
PARAM("infer", infer, ENUM, 0, 5, 0, NONE, FIELD,
      VALUES("off", "batch", "all", "learn", "content", "both"),
      "for guests without hints: the last command of a doorbell write is a "
      "Barrier; all: and a lone one is Urgent; learn: Urgent are those whose "
      "buffers were waited for before; content: all, and what is made durable; "
      "both: learn, and what is made durable (cint, price)"),
PARAM("price", price_ns, UINT, 0, 1000000000, 2220, NS, NONE,
      NULL,
      "ns that an interrupt is worth: what is pending waits that long, in all "
      "(price)"),
PARAM("weight", weight, UINT, 1, 100, 10, NONE, NONE,
      NULL,
      "percent of its wait that a command counts that nobody waits for "
      "(price)"),
PARAM("static-time", static_time_ns, UINT, 0, 1000000000, 0, NS, FIELD,
      NULL,
      "ns from the first pending CQE to the interrupt, 0 = no aggregation "
      "(default, static)"),
PARAM("static-thr", static_thr, UINT, 0, 65535, 0, NONE, FIELD,
      NULL,
      "CQEs that interrupt at once, counted from 1, 0 = no aggregation "
      "(default, static)"),
PARAM("each-cqe", each_cqe, BOOL, 0, 1, 1, NONE, FIELD,
      NULL,
      "one message for each CQE even when several are posted together "
      "(default)"),
PARAM("drain", drain, ENUM, 0, 2, 0, NONE, FIELD,
      VALUES("auto", "on", "off"),
      "interrupt when nothing is left in flight, or (cint) the guest sleeps; "
      "auto: as suits the policy"),
PARAM("max-hold", max_hold_ns, UINT, 0, 10000000000, 10000000, NS, FIELD,
      NULL,
      "ns a CQE may be held at the most, whatever the policy; 0 = no limit "
      "(not under vic and pointer)"),
PARAM("cif-threshold", cif_threshold, UINT, 2, 65535, 4, NONE, FIELD,
      NULL,
      "commands in flight below which every completion interrupts (vic; vIC "
      "3.2)"),
PARAM("iops-threshold", iops_threshold, UINT, 0, 100000000, 2000, PER_S, FIELD,
      NULL,
      "completions/s below which every completion interrupts (vic; vIC 3.2)"),
PARAM("epoch", epoch_ms, UINT, 1, 60000, 200, MS, FIELD,
      NULL,
      "ms between two determinations of the ratio (vic; vIC 3.2.2)"),
PARAM("max-skip", max_skip, UINT, 0, 65535, 0, NONE, FIELD,
      NULL,
      "largest n of a delivery ratio 1/n, 0 = no limit; the paper's text "
      "has 16 (vic; vIC 3.2.1)"),
PARAM("vic-scope", vic_scope, ENUM, 0, 1, 0, NONE, FIELD,
      VALUES("controller", "cq"),
      "whose commands in flight and completions the ratio follows (vic)"),
PARAM("vic-ratios", vic_ratios, ENUM, 0, 2, 0, NONE, FIELD,
      VALUES("full", "coarse", "adaptive"),
      "coarse: no iops-threshold and no ratio between 1 and 1/2, as an "
      "early driver had it (vIC 5); adaptive: ratios by trial, as long as no "
      "more than 1/32 of the rate is lost (vic)"),
PARAM("kick-window", kick_window_ns, UINT, 0, 1000000000, 0, NS, FIELD,
      NULL,
      "ns after a message in which a guest that has rung a doorbell since "
      "gets no further one until it rings again; 0 = off (any policy; vIC "
      "3.3)"),
PARAM("ack-gate", ack_gate_ns, UINT, 0, 1000000000, 0, NS, NONE,
      NULL,
      "ns after a message in which there is no further one until the guest "
      "has acknowledged it by a CQ head that moves; 0 = off (any policy)"),
PARAM("max-irq-rate", max_irq_rate, UINT, 0, 1000000000, 0, PER_S, FIELD,
      NULL,
      "interrupts/s of a CQ that storm protection allows, 0 = off (any "
      "policy; cinterrupts 4.3)"),
PARAM("ewma-shift", ewma_shift, UINT, 1, 16, 7, NONE, FIELD,
      NULL,
      "the last interval weighs 1/2^n in the mean that storm protection "
      "goes by"),
PARAM("storm", storm, ENUM, 0, 1, 0, NONE, STORM_RETUNE,
      VALUES("hold", "retune"),
      "in a storm interrupts wait; retune: delta and thr grow and hints are "
      "ignored instead (adaptive, cint; cinterrupts 4.3)"),
