/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <glib/gstdio.h>
#include <stdarg.h>
#include <unistd.h>

#include "tree.h"

static char *root;

void tree_begin(void)
{
    GError *err = NULL;

    g_assert_null(root);
    root = g_dir_make_tmp("tree-XXXXXX", &err);
    g_assert_no_error(err);
}

const char *rooted(const char *path)
{
    g_autofree char *at = g_build_filename(root, path, NULL);

    return g_intern_string(at);
}

static void make_room(const char *at)
{
    g_autofree char *dir = g_path_get_dirname(at);

    g_assert_cmpint(g_mkdir_with_parents(dir, 0755), ==, 0);
}

void put(const char *path, const char *fmt, ...)
{
    g_autofree char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    make_room(rooted(path));
    g_assert_true(g_file_set_contents(rooted(path), text, -1, NULL));
}

void put_link(const char *path, const char *target)
{
    make_room(rooted(path));
    g_unlink(rooted(path));
    g_assert_cmpint(symlink(target, rooted(path)), ==, 0);
}

static void remove_all(const char *at)
{
    GDir *dir = g_file_test(at, G_FILE_TEST_IS_SYMLINK) ? NULL :
                g_dir_open(at, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *below = g_build_filename(at, name, NULL);

        remove_all(below);
    }
    if (dir) {
        g_dir_close(dir);
    }
    g_assert_cmpint(g_remove(at), ==, 0);
}

void take_away(const char *path)
{
    remove_all(rooted(path));
}

void tree_end(void)
{
    remove_all(root);
    g_clear_pointer(&root, g_free);
}
