/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where the guest's kernel moves I/O and those who do it: the kernel's own
 * KUnit tests, run as a program that speaks TAP. --seed S, which every program
 * of the suite is given, changes nothing here.
 */
#include "blk-switch-policy_test.inc.h"

int main(void)
{
    return kunit_run(kunit_the_suite);
}
