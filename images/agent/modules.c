/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modules of a kernel that does not have every driver built in. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* a list is a few lines; this bounds what a broken image can ask for */
#define LIST_MAX (64 * 1024)

int modules_insert(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int ret;

    if (fd < 0) {
        return -errno;
    }
    ret = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
    close(fd);
    return ret;
}

static bool insert(const char *path, modules_insert_fn insert_one, char *err)
{
    int ret = insert_one(path);

    /* EEXIST: loaded before, or built in */
    if (ret && ret != -EEXIST) {
        snprintf(err, AGENT_ERR_LEN, "module %.300s: %s", path,
                 strerror(-ret));
        return false;
    }
    return true;
}

bool modules_load(const char *list, modules_insert_fn insert_one, char *err)
{
    size_t len;
    char *text = util_read_file(list, LIST_MAX, &len);
    char *rest = NULL;
    bool ok = true;

    if (!text) {
        if (errno == ENOENT) {
            return true;
        }
        snprintf(err, AGENT_ERR_LEN, "%.300s: %s", list, strerror(errno));
        return false;
    }
    for (char *path = strtok_r(text, "\n", &rest); ok && path;
         path = strtok_r(NULL, "\n", &rest)) {
        ok = insert(path, insert_one, err);
    }
    free(text);
    return ok;
}
