/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * cintio: what a PCI function is, and who uses it while the kernel's driver has
 * it: mounts, swap, other block devices, processes. Taken from under them, a
 * file system is lost, and its data may be.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "caller.h"
#include "users.h"

#define DEVICES     "/sys/bus/pci/devices/"
#define BLOCK       "/sys/class/block/"
#define CONTROLLERS "/sys/class/nvme/"
#define GENERIC     "/sys/class/nvme-generic/"
#define NVME_CLASS  0x0108

/* What programs open: a disk, a partition, or one of NVMe's or UIO's files. */
struct node {
    char name[32];              /* in /dev */
    dev_t dev;
    bool block, partition;
};

struct nodes {
    struct node *at;
    size_t nr;
};

/* The user that was found. */
struct user {
    char text[160];
};

#define FOUND 1                 /* the function has left a text there */

static int found(struct user *user, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static int found(struct user *user, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(user->text, sizeof(user->text), fmt, ap);
    va_end(ap);
    return FOUND;
}

/* @path: PATH_MAX bytes. What does not fit is cut: there is no such file. */
static void path_of(char *path, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void path_of(char *path, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(path, PATH_MAX, fmt, ap);
    va_end(ap);
}

/* The first line, without its end; an empty one if there is none. */
static void read_line(const char *path, char *line, size_t len)
{
    FILE *file = fopen(path, "re");

    *line = '\0';
    if (file) {
        (void)!fgets(line, len, file);
        fclose(file);
    }
    line[strcspn(line, "\n")] = '\0';
}

/* Domain, bus, device and function as the kernel writes them, no other path. */
static bool is_address(const char *address)
{
    static const char digits[] = "0123456789abcdef";
    size_t domain = strspn(address, digits);
    const char *rest = address + domain;

    return domain >= 4 && strlen(rest) == strlen(":00:03.0") &&
           rest[0] == ':' && strspn(rest + 1, digits) == 2 &&
           rest[3] == ':' && strspn(rest + 4, digits) == 2 &&
           rest[6] == '.' && strspn(rest + 7, digits) == 1;
}

int cintio_check_class(const char *address, struct cintio_error *err)
{
    char path[PATH_MAX], text[32];
    unsigned int class = 0;

    path_of(path, DEVICES "%s", address);
    if (!is_address(address) || access(path, F_OK)) {
        return cintio_fail(err, -ENOENT, "there is no PCI function %s; its "
                           "address looks like 0000:00:03.0", address);
    }
    path_of(path, DEVICES "%s/class", address);
    read_line(path, text, sizeof(text));
    (void)!sscanf(text, "%x", &class);
    return class >> 8 == NVME_CLASS ? 0 :
        cintio_fail(err, -EINVAL, "%s is no NVMe controller: its PCI class is "
                    "%06x, not 0108xx", address, class);
}

/* --- its files in /dev --------------------------------------------------- */

/*
 * The name of a namespace's disk, nvme0n1; or of one path to it, which is
 * hidden, nvme0c1n1: then @path is the controller's number, else -1.
 */
static bool is_disk(const char *name, unsigned int *subsystem, int *path,
                    unsigned int *number)
{
    int end = 0;

    *path = -1;
    if (sscanf(name, "nvme%uc%dn%u%n", subsystem, path, number, &end) == 3) {
        return !name[end];
    }
    *path = -1;
    return sscanf(name, "nvme%un%u%n", subsystem, number, &end) == 2 &&
           !name[end];
}

/* @dir/@name has a file "dev" that tells its numbers. */
static int add(struct nodes *nodes, const char *dir, const char *name,
               bool block, bool partition)
{
    struct node node = { .block = block, .partition = partition }, *more;
    char path[PATH_MAX], text[32];
    unsigned int major, minor;

    path_of(path, "%s/%s/dev", dir, name);
    read_line(path, text, sizeof(text));
    if (sscanf(text, "%u:%u", &major, &minor) != 2) {
        return 0;
    }
    more = realloc(nodes->at, (nodes->nr + 1) * sizeof(*more));
    if (!more) {
        return -ENOMEM;
    }
    snprintf(node.name, sizeof(node.name), "%s", name);
    node.dev = makedev(major, minor);
    more[nodes->nr++] = node;
    nodes->at = more;
    return 0;
}

/* A disk and its partitions, which are directories in its own. */
static int add_disk(struct nodes *nodes, const char *name)
{
    char path[PATH_MAX];
    struct dirent *entry;
    int ret = add(nodes, BLOCK, name, true, false);
    DIR *dir;

    path_of(path, BLOCK "%s", name);
    dir = opendir(path);
    while (!ret && dir && (entry = readdir(dir))) {
        if (!strncmp(entry->d_name, name, strlen(name))) {
            ret = add(nodes, path, entry->d_name, true, true);
        }
    }
    if (dir) {
        closedir(dir);
    }
    return ret;
}

/* What is in a controller's directory. */
static int add_namespace(struct nodes *nodes, const char *name)
{
    unsigned int subsystem, number;
    char disk[32], generic[32];
    int path, ret;

    if (!is_disk(name, &subsystem, &path, &number)) {
        return 0;
    }
    snprintf(disk, sizeof(disk), "nvme%un%u", subsystem, number);
    snprintf(generic, sizeof(generic), "ng%un%u", subsystem, number);
    ret = add_disk(nodes, disk);
    return ret ? ret : add(nodes, GENERIC, generic, false, false);
}

typedef int (*entry_fn)(void *opaque, const char *at, const char *name);

/* Until @fn returns something else than 0, for all in the directory @at. */
static int for_each(const char *at, entry_fn fn, void *opaque)
{
    struct dirent *entry;
    DIR *dir = opendir(at);
    int ret = 0;

    while (!ret && dir && (entry = readdir(dir))) {
        if (*entry->d_name != '.') {
            ret = fn(opaque, at, entry->d_name);
        }
    }
    if (dir) {
        closedir(dir);
    }
    return ret;
}

static int collect_namespace(void *opaque, const char *at, const char *name)
{
    (void)at;
    return add_namespace(opaque, name);
}

static int collect_controller(void *opaque, const char *at, const char *name)
{
    char path[PATH_MAX];
    int ret = add(opaque, at, name, false, false);

    path_of(path, "%s/%s", at, name);
    return ret ? ret : for_each(path, collect_namespace, opaque);
}

/* Of a program that drives it by a driver other than the kernel's or VFIO's. */
static int collect_uio(void *opaque, const char *at, const char *name)
{
    return add(opaque, at, name, false, false);
}

static int collect(struct nodes *nodes, const char *address)
{
    char path[PATH_MAX];
    int ret;

    path_of(path, DEVICES "%s/nvme", address);
    ret = for_each(path, collect_controller, nodes);
    path_of(path, DEVICES "%s/uio", address);
    return ret ? ret : for_each(path, collect_uio, nodes);
}

static const struct node *find(const struct nodes *nodes, bool block, dev_t dev)
{
    for (size_t i = 0; i < nodes->nr; i++) {
        if (nodes->at[i].block == block && nodes->at[i].dev == dev) {
            return &nodes->at[i];
        }
    }
    return NULL;
}

/* That of a file in /dev, whatever it is called there. */
static const struct node *find_file(const struct nodes *nodes, const char *path)
{
    struct stat is;

    if (stat(path, &is) || !(S_ISBLK(is.st_mode) || S_ISCHR(is.st_mode))) {
        return NULL;
    }
    return find(nodes, S_ISBLK(is.st_mode), is.st_rdev);
}

/* --- who uses them ------------------------------------------------------- */

struct search {
    const char *address;
    struct nodes nodes;
    struct user *user;
    unsigned int pid;           /* whose files are looked at */
};

/* Some file systems have numbers of their own: then the source tells. */
static int find_mount(struct search *search)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char line[2 * PATH_MAX], at[PATH_MAX], source[PATH_MAX];
    unsigned int major, minor;
    int ret = 0;

    while (file && !ret && fgets(line, sizeof(line), file)) {
        const char *rest = strstr(line, " - ");
        const struct node *node;

        if (sscanf(line, "%*u %*u %u:%u %*s %4095s", &major, &minor, at) != 3) {
            continue;
        }
        node = find(&search->nodes, true, makedev(major, minor));
        if (!node && rest && sscanf(rest, " - %*s %4095s", source) == 1 &&
            *source == '/') {
            node = find_file(&search->nodes, source);
        }
        if (node) {
            ret = found(search->user, "/dev/%s is mounted at %.80s",
                        node->name, at);
        }
    }
    if (file) {
        fclose(file);
    }
    return ret;
}

static int find_swap(struct search *search)
{
    FILE *file = fopen("/proc/swaps", "re");
    char line[PATH_MAX], path[PATH_MAX];
    int ret = 0;

    while (file && !ret && fgets(line, sizeof(line), file)) {
        const struct node *node = sscanf(line, "%4095s", path) == 1 ?
            find_file(&search->nodes, path) : NULL;

        if (node) {
            ret = found(search->user, "/dev/%s is swapped to", node->name);
        }
    }
    if (file) {
        fclose(file);
    }
    return ret;
}

static int find_holder(void *opaque, const char *at, const char *name)
{
    struct search *search = opaque;
    const char *of = at + strlen(BLOCK);

    return found(search->user, "/dev/%.*s is part of /dev/%.64s",
                 (int)strcspn(of, "/"), of, name);
}

/* A partition's directory is also where those of disks are. */
static int find_holders(struct search *search)
{
    char path[PATH_MAX];
    int ret = 0;

    for (size_t i = 0; !ret && i < search->nodes.nr; i++) {
        path_of(path, BLOCK "%s/holders",
                 search->nodes.at[i].name);
        ret = search->nodes.at[i].block ? for_each(path, find_holder, search)
                                        : 0;
    }
    return ret;
}

static int find_loop(void *opaque, const char *at, const char *name)
{
    struct search *search = opaque;
    char path[PATH_MAX], backing[PATH_MAX];
    const struct node *node;

    if (strncmp(name, "loop", 4)) {
        return 0;
    }
    path_of(path, "%s%s/loop/backing_file", at, name);
    read_line(path, backing, sizeof(backing));
    node = *backing ? find_file(&search->nodes, backing) : NULL;
    return node ? found(search->user, "/dev/%s is behind /dev/%.64s",
                        node->name, name) : 0;
}

/* The kernel may use it over another controller of the same subsystem. */
static int find_other_path(void *opaque, const char *at, const char *name)
{
    struct search *search = opaque;
    unsigned int subsystem, number;
    char disk[32];
    int path;

    if (!is_disk(name, &subsystem, &path, &number) || path < 0) {
        return 0;
    }
    snprintf(disk, sizeof(disk), "nvme%un%u", subsystem, number);
    for (size_t i = 0; i < search->nodes.nr; i++) {
        if (!strcmp(search->nodes.at[i].name, disk)) {
            return found(search->user, "/dev/%s has another path, by %.32s",
                         disk, strrchr(at, '/') + 1);
        }
    }
    return 0;
}

static int find_paths(void *opaque, const char *at, const char *name)
{
    struct search *search = opaque;
    char path[PATH_MAX];

    /* not its own */
    for (size_t i = 0; i < search->nodes.nr; i++) {
        if (!strcmp(search->nodes.at[i].name, name)) {
            return 0;
        }
    }
    path_of(path, "%s%s", at, name);
    return for_each(path, find_other_path, search);
}

/* A file of sysfs that maps its registers. */
static bool is_registers(const char *target, const char *address)
{
    const char *at = strstr(target, address);

    return at && !strncmp(at + strlen(address), "/resource", 9);
}

static int find_open_file(void *opaque, const char *at, const char *name)
{
    struct search *search = opaque;
    char path[PATH_MAX], target[PATH_MAX], process[64];
    const struct node *node;
    bool registers;
    ssize_t n;

    path_of(path, "%s/%s", at, name);
    n = readlink(path, target, sizeof(target) - 1);
    target[n < 0 ? 0 : n] = '\0';
    registers = is_registers(target, search->address);
    /* nobody asks a server that may be gone about one of its files */
    node = strstr(target, "/dev/") ? find_file(&search->nodes, path) : NULL;
    if (!node && !registers) {
        return 0;
    }
    path_of(path, "/proc/%u/comm", search->pid);
    read_line(path, process, sizeof(process));
    return found(search->user, "process %u (%s) has %s%s open", search->pid,
                 process, node ? "/dev/" : "its registers",
                 node ? node->name : "");
}

/* Threads share their files, but for who has said so, or outlives the first. */
static int find_thread(void *opaque, const char *at, const char *name)
{
    struct search *search = opaque;
    unsigned int tid;
    char path[PATH_MAX];

    if (sscanf(name, "%u", &tid) != 1 || tid == search->pid ||
        !syscall(SYS_kcmp, search->pid, tid, KCMP_FILES, 0, 0)) {
        return 0;
    }
    path_of(path, "%s/%s/fd", at, name);
    return for_each(path, find_open_file, search);
}

static int find_process(void *opaque, const char *at, const char *name)
{
    struct search *search = opaque;
    char path[PATH_MAX];
    int ret;

    if (sscanf(name, "%u", &search->pid) != 1) {
        return 0;
    }
    path_of(path, "%s/%s/fd", at, name);
    ret = for_each(path, find_open_file, search);
    path_of(path, "%s/%s/task", at, name);
    return ret ? ret : for_each(path, find_thread, search);
}

static int find_user(struct search *search)
{
    int ret = find_mount(search);

    ret = ret ? ret : find_swap(search);
    ret = ret ? ret : find_holders(search);
    ret = ret ? ret : for_each(BLOCK, find_loop, search);
    ret = ret ? ret : for_each(CONTROLLERS, find_paths, search);
    return ret ? ret : for_each("/proc", find_process, search);
}

/* --- to have them for oneself -------------------------------------------- */

/* Whoever holds a partition, or mounts one elsewhere, is in the way, too. */
static int claim(const struct node *node, struct cintio_claims *claims,
                 struct user *user)
{
    char path[PATH_MAX];
    int *more = realloc(claims->fds, (claims->nr + 1) * sizeof(*more)), fd;

    if (!more) {
        return -ENOMEM;
    }
    claims->fds = more;
    path_of(path, "/dev/%s", node->name);
    fd = open(path, O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == EBUSY) {
        return found(user, "something in the kernel holds /dev/%s or a "
                     "partition of it, as a mount that is not seen from here",
                     node->name);
    }
    if (fd < 0) {
        return found(user, "/dev/%s does not tell who has it: %s", node->name,
                     strerror(errno));
    }
    claims->fds[claims->nr++] = fd;
    return 0;
}

static int claim_all(const struct nodes *nodes, struct cintio_claims *claims,
                     struct user *user)
{
    int ret = 0;

    for (size_t i = 0; !ret && i < nodes->nr; i++) {
        if (nodes->at[i].block && !nodes->at[i].partition) {
            ret = claim(&nodes->at[i], claims, user);
        }
    }
    return ret;
}

void cintio_drop_claims(struct cintio_claims *claims)
{
    for (size_t i = 0; i < claims->nr; i++) {
        close(claims->fds[i]);
    }
    free(claims->fds);
    *claims = (struct cintio_claims) { 0 };
}

int cintio_claim(const char *address, struct cintio_claims *claims,
                 struct cintio_error *err)
{
    struct user user;
    struct search search = { .address = address, .user = &user };
    int ret;

    *claims = (struct cintio_claims) { 0 };
    ret = collect(&search.nodes, address);
    ret = ret ? ret : find_user(&search);
    ret = ret ? ret : claim_all(&search.nodes, claims, &user);
    free(search.nodes.at);
    if (ret) {
        cintio_drop_claims(claims);
    }
    return ret == FOUND ? cintio_fail(err, -EBUSY, "%s is in use: %s", address,
                                      user.text) :
           ret ? cintio_fail(err, ret, "out of memory") : 0;
}
