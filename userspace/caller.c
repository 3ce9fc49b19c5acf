/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: what callers give, and what they are told.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "caller.h"

/* No structure is smaller than it was. */
_Static_assert(sizeof(struct cintio_options) >= CINTIO_OPTIONS_0_1, "ABI");
_Static_assert(sizeof(struct cintio_queue_options) >=
               CINTIO_QUEUE_OPTIONS_0_1, "ABI");
_Static_assert(sizeof(struct cintio_statistics) >= CINTIO_STATISTICS_0_1,
               "ABI");
/* Those without a size are as they are. */
_Static_assert(sizeof(struct cintio_io) == 128, "ABI");
_Static_assert(sizeof(struct cintio_done) == 32, "ABI");
_Static_assert(sizeof(struct cintio_ready) == 40, "ABI");

int cintio_fail(struct cintio_error *err, int code, const char *fmt, ...)
{
    va_list ap;

    if (err) {
        va_start(ap, fmt);
        vsnprintf(err->text, sizeof(err->text), fmt, ap);
        va_end(ap);
    }
    return code;
}

int cintio_take_sized(void *to, size_t known, size_t first, const void *from,
                      const char *name, struct cintio_error *err)
{
    const uint8_t *bytes = from;
    uint32_t size;

    memcpy(&size, from, sizeof(size));
    size = size ? size : first;
    if (size < first) {
        return cintio_fail(err, -EINVAL, "%s of %u bytes: its size is sizeof, "
                           "or 0", name, size);
    }
    for (size_t i = known; i < size; i++) {
        if (bytes[i]) {
            return cintio_fail(err, -E2BIG, "%s of %u bytes: this is version "
                               CINTIO_VERSION " of the library, which knows "
                               "%zu of them", name, size, known);
        }
    }
    memset(to, 0, known);
    memcpy(to, from, size < known ? size : known);
    return 0;
}

const char *cintio_version(void)
{
    return CINTIO_VERSION;
}
