/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The policies, in the order of enum NvmeCintPolicyId: a line each with its
 * name and its CintPolicyOps, which are in the file of that name. Nothing else
 * knows a policy by its name. To be included where POLICY() says what is
 * wanted of a line.
 */
POLICY("default", cint_policy_default),
POLICY("static", cint_policy_static),
POLICY("adaptive", cint_policy_adaptive),
POLICY("vic", cint_policy_vic),
POLICY("cint", cint_policy_cint),
POLICY("pointer", cint_policy_pointer)
