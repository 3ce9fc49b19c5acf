/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cint-preload: starts a program with its I/O marked by a file of rules, or
 * says why it cannot be: the library itself is not there to say so.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "rules.h"

#define LIBRARY "libcint-preload.so"

enum {
    TEXT_MAX = 64 << 10,
    EXIT_USAGE = 2,
    EXIT_BAD_RULES = 125,
    EXIT_NOT_STARTED = 126,
};

static int complain(int status, const char *what, const char *why)
{
    fprintf(stderr, "cint-preload: %s: %s\n", what, why);
    return status;
}

static int usage(void)
{
    fputs("usage: cint-preload RULES PROGRAM [ARGUMENT...]\n"
          "       cint-preload --check RULES\n"
          "Starts a program whose I/O is marked as a file of rules says, or "
          "reads that file only.\n", stderr);
    return EXIT_USAGE;
}

static int check_rules(const char *name)
{
    static struct rules rules;
    static char text[TEXT_MAX];
    char error[4 * RULES_WORD];
    FILE *file = fopen(name, "r");
    size_t n;

    if (!file) {
        return complain(EXIT_BAD_RULES, name, strerror(errno));
    }
    n = fread(text, 1, sizeof(text), file);
    if (ferror(file)) {
        return complain(EXIT_BAD_RULES, name, strerror(errno));
    }
    fclose(file);
    if (n == sizeof(text)) {
        return complain(EXIT_BAD_RULES, name, "longer than 64 KiB");
    }
    if (!rules_parse(&rules, name, text, n, error, sizeof(error))) {
        fprintf(stderr, "cint-preload: %s\n", error);
        return EXIT_BAD_RULES;
    }
    return 0;
}

/* Where execvp() will find it */
static bool find_program(const char *name, char *path)
{
    const char *search = getenv("PATH");
    char list[PATH_MAX], *rest = list, *one;

    if (strchr(name, '/')) {
        return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX &&
               !access(path, X_OK);
    }
    if (snprintf(list, sizeof(list), "%s", search ? search : "/usr/bin:/bin") >=
        (int)sizeof(list)) {
        return false;
    }
    while ((one = strsep(&rest, ":"))) {
        if (snprintf(path, PATH_MAX, "%s/%s", *one ? one : ".", name) <
            PATH_MAX && !access(path, X_OK)) {
            return true;
        }
    }
    return false;
}

/*
 * Whether it starts with other rights than whoever starts it; not from a file
 * system where nothing does.
 */
static bool changes_rights(int fd, const struct stat *st)
{
    struct statvfs where;

    if (!fstatvfs(fd, &where) && (where.f_flag & ST_NOSUID)) {
        return false;
    }
    return ((st->st_mode & S_ISUID) && st->st_uid != getuid()) ||
           ((st->st_mode & S_ISGID) && (st->st_mode & S_IXGRP) &&
            st->st_gid != getgid()) ||
           (getuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

/* Why the dynamic loader will not load the library into it; NULL if it will */
static const char *out_of_reach(const char *path)
{
    const char *why = "is statically linked: nothing can be loaded into it";
    struct stat st;
    Elf64_Ehdr head;
    Elf64_Phdr part;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        return NULL;
    }
    if (!fstat(fd, &st) && changes_rights(fd, &st)) {
        why = "changes its user, group or capabilities: the loader loads "
              "nothing for it";
    } else if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
               memcmp(head.e_ident, ELFMAG, SELFMAG)) {
        why = NULL;             /* a script: its interpreter is asked */
    } else if (head.e_ident[EI_CLASS] != ELFCLASS64) {
        why = "is a 32-bit program, and the library is not";
    } else {
        for (int i = 0; i < head.e_phnum; i++) {
            off_t at = head.e_phoff + i * sizeof(part);

            if (pread(fd, &part, sizeof(part), at) == sizeof(part) &&
                part.p_type == PT_INTERP) {
                why = NULL;
            }
        }
    }
    close(fd);
    return why;
}

/* The library beside this program, or where programs' libraries are */
static bool find_library(char *path)
{
    static const char *const places[] = { "", "../lib/", LIBRARY_DIR "/" };
    char own[PATH_MAX], try[2 * PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

    if (n < 0) {
        return false;
    }
    own[n] = '\0';
    *(strrchr(own, '/') + 1) = '\0';
    for (int i = 0; i < 3; i++) {
        snprintf(try, sizeof(try), "%s%s%s", *places[i] == '/' ? "" : own,
                 places[i], LIBRARY);
        if (realpath(try, path)) {
            return true;
        }
    }
    return false;
}

/* Before what is preloaded already: that may be what the calls go to */
static int start(const char *library, const char *rules, char **argv)
{
    const char *others = getenv("LD_PRELOAD");
    char all[2 * PATH_MAX], path[PATH_MAX];

    if (!realpath(rules, path)) {
        return complain(EXIT_BAD_RULES, rules, strerror(errno));
    }
    if (snprintf(all, sizeof(all), "%s%s%s", library,
                 others && *others ? ":" : "", others ? others : "") >=
        (int)sizeof(all)) {
        return complain(EXIT_NOT_STARTED, "LD_PRELOAD", "is too long");
    }
    setenv("LD_PRELOAD", all, 1);
    setenv("CINT_PRELOAD", path, 1);
    execvp(argv[0], argv);
    return complain(EXIT_NOT_STARTED, argv[0], strerror(errno));
}

int main(int argc, char **argv)
{
    char program[PATH_MAX], library[PATH_MAX];
    const char *why;
    int bad;

    if (argc == 3 && !strcmp(argv[1], "--check")) {
        return check_rules(argv[2]);
    }
    if (argc < 3 || argv[1][0] == '-') {
        return usage();
    }
    bad = check_rules(argv[1]);
    if (bad) {
        return bad;
    }
    if (!find_program(argv[2], program)) {
        return complain(EXIT_NOT_STARTED, argv[2], "there is no such program");
    }
    why = out_of_reach(program);
    if (why) {
        return complain(EXIT_NOT_STARTED, argv[2], why);
    }
    if (!find_library(library)) {
        return complain(EXIT_NOT_STARTED, LIBRARY, "is not where it should be");
    }
    return start(library, argv[1], argv + 2);
}
