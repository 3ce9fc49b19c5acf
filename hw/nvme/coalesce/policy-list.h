/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The policies, in the order of enum NvmeCintPolicyId; one without a number
 * there takes the next. A line each: the name as typed, which is also that of
 * its file; its CintPolicyOps, which are in that file; and the parameters
 * that it reads, of those that not every policy has. max-hold among them
 * means that it cannot do without, drain that it is not meant to. Nothing else
 * knows a policy by its name.
 * To be included where POLICY() says what is wanted of a line.
 */
POLICY("default", cint_policy_default, "static-time static-thr each-cqe"),
POLICY("static", cint_policy_static, "static-time static-thr"),
POLICY("adaptive", cint_policy_adaptive, "delta thr tune storm"),
POLICY("vic", cint_policy_vic,
       "cif-threshold iops-threshold epoch max-skip vic-scope vic-ratios "
       "max-hold"),
POLICY("cint", cint_policy_cint, "delta thr tune storm barrier ooo infer"),
POLICY("pointer", cint_policy_pointer, "max-hold"),
POLICY("auto", cint_policy_auto, "delta thr storm ooo drain"),
POLICY("price", cint_policy_price, "price weight infer"),
