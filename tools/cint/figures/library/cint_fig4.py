# SPDX-License-Identifier: GPL-2.0-or-later
"""cinterrupts, Figure 4: what an interrupt adds to a lone read."""

from cint.figures import polled
from cint.figures.checks import at_least, at_most, instead, within
from cint.figures.model import Figure, Group, Panel, Series
from cint.figures.polled import CLASSIC, IRQ
from cint.figures.values import Expr, least, most, value

#: Reads of 85, 10 and 5 us: some 3 us are what the guest's kernel adds.
MEDIA = {"85 us": "custom:read-latency=82us,write-latency=82us", "10 us": "optane",
         "5 us": "custom:read-latency=2us,write-latency=2us"}


def mean(media: str, run: str) -> Expr:
    return value("mean_us", f"{media}/{run}", "alone")


def added(media: str) -> Expr:
    return mean(media, IRQ) - mean(media, CLASSIC)


def share(media: str) -> Expr:
    return added(media) / mean(media, IRQ)


FIGURE = Figure(
    "cint-fig4", "cinterrupts", "What an interrupt adds to a lone read", "section 2, Figure 4",
    "An interrupt adds the same to a lone read whatever the medium, 740 ns, which is 15 % of a "
    "read of 5 us.",
    groups=tuple(Group(polled.runs(IRQ, CLASSIC), (polled.alone("4k"),), text, f"{media}/",
                       runtime_s=0.05) for media, text in MEDIA.items()),
    checks=(
        at_most("what an interrupt adds, the most of the media against the least",
                most([added(m) for m in MEDIA]) / least([added(m) for m in MEDIA]), 1.2,
                instead(f"5 us/{IRQ}", f"10 us/{IRQ}"), paper=1.0),
        within("share of a read of 5 us", share("5 us"), 0.10, 0.35,
               instead(f"5 us/{IRQ}", f"10 us/{IRQ}"), paper=0.15),
        at_least("share of a read of 5 us against one of 10 us", share("5 us") / share("10 us"),
                 1.7, instead(f"5 us/{IRQ}", f"5 us/{CLASSIC}"), paper=2.0),
    ),
    panels=(Panel("latency of a read", "us", (
        Series("interrupt", [(m, mean(m, IRQ)) for m in MEDIA]),
        Series("polled", [(m, mean(m, CLASSIC)) for m in MEDIA])), log_y=True),
        Panel("share of the interrupt", "of the latency", (
            Series("here", [(m, share(m)) for m in MEDIA]),
            Series("paper", [("5 us", 0.15)], paper=True)))),
    columns=polled.COLUMNS,
    notes=("The difference between an interrupt and polling has in it what it takes to sleep and "
           "to wake up, which the paper's 740 ns for the handler have not.", polled.ONE_CPU),
    sets=("polling",),
)
