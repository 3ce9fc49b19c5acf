# SPDX-License-Identifier: GPL-2.0-or-later
"""How the tests take the papers' claims: each holds, or deviates by as much as is known."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cint.figures.base import Deviation, Failure


def check(failures: Sequence[Failure], expected: Deviation | None = None) -> None:
    """No claim fails; with `expected` exactly one does, and its value is within the bounds."""
    if expected is None:
        assert [str(failure) for failure in failures] == []
        return
    # Only what was found in bounds comes here: any other exception is a failed test.
    pytest.xfail(expected.explain(failures))
