#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Take the C code of docs/userspace.md out of the page: contract.py PAGE OUTPUT.

Behind it comes wait_for() twice more, each time without one of its rules, which a remark in its
lines names: wait_emptied_early() and wait_without_clamp(). A test has to find these out.
"""

import re
import sys
from pathlib import Path

BEHIND, CLAMP = "/* behind the sleep */", "/* the clamp */"


def code_of(text: str) -> str:
    """The only block of C; ValueError if there is another number of them."""
    blocks = re.findall(r"^```c\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    if len(blocks) != 1:
        raise ValueError(f"{len(blocks)} blocks of C, not one")
    return str(blocks[0])


def without(code: str, name: str, rule: str) -> str:
    """wait_for() under another name, with the rule's line before the last one, or no clamp."""
    function = code[code.index("static void wait_for("):]
    if function.count(rule) != 1:
        raise ValueError(f"{rule} stands {function.count(rule)} times in wait_for()")
    lines = function.splitlines()
    at = next(i for i, line in enumerate(lines) if rule in line)
    if rule == BEHIND:
        lines[at - 1], lines[at] = lines[at], lines[at - 1]
    else:
        lines[at] = "    k = k;"
    return "\n".join(lines).replace("wait_for(", f"{name}(", 1) + "\n"


def main() -> int:
    """Command line; 0 done, 1 the page is another than it should be."""
    page, output = map(Path, sys.argv[1:])
    try:
        code = code_of(page.read_text("utf-8"))
        output.write_text("\n".join([code, without(code, "wait_emptied_early", BEHIND),
                                     without(code, "wait_without_clamp", CLAMP)]), "utf-8")
    except (OSError, ValueError) as error:
        print(f"contract.py: {page}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
