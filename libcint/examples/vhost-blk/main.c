/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A disk for virtual machines, vhost-user-blk, whose completions are coalesced
 * as libcint says. One thread, one VMM at a time.
 *
 * On standard input it takes "stats" and "policy POLICY", and answers each with
 * a line of JSON: what was counted since it began, of all queues.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "server.h"

#define EXIT_USAGE      2
#define LONGEST_US      1000000

enum { POLL_VMM, POLL_STDIN, POLL_KICKS };

static const char usage[] =
"usage: libcint-vhost-blk [options] SOCKET FILE\n"
"\n"
"Serves FILE as a virtio-blk disk to the VMM that connects to SOCKET. Standard\n"
"input: stats, or policy POLICY; each is answered with a line of JSON.\n"
"\n"
"  --policy P[:k=v,...]  when to interrupt (docs/policies.md; default:\n"
"                        cint:infer=content)\n"
"  --latency-us N        a request takes N us (default: 0, as long as FILE does)\n"
"  --apart-us N          the next one of a queue is done N us later at the\n"
"                        earliest (default: 0)\n"
"  --queues N            1 to 8 (default: 1)\n";

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/*
 * Standard input
 */

static Stats all_stats(const Server *server)
{
    Stats all = { 0 };
    unsigned i, reason;

    for (i = 0; i < server->nr_queues; i++) {
        const Stats *stats = &server->queue[i].stats;

        all.completions += stats->completions;
        all.kicks += stats->kicks;
        all.interrupts += stats->interrupts;
        all.calls += stats->calls;
        all.prompt += stats->prompt;
        for (reason = 0; reason < NR_REASONS; reason++) {
            all.reasons[reason] += stats->reasons[reason];
        }
    }
    return all;
}

static void print_stats(const Server *server)
{
    Stats all = all_stats(server);
    const char *comma = "";
    unsigned i;

    printf("{\"completions\":%" PRIu64 ",\"kicks\":%" PRIu64
           ",\"interrupts\":%" PRIu64 ",\"calls\":%" PRIu64 ",\"prompt\":%"
           PRIu64 ",\"reasons\":{", all.completions, all.kicks, all.interrupts,
           all.calls, all.prompt);
    for (i = 0; i < NR_REASONS; i++) {
        if (all.reasons[i]) {
            printf("%s\"%s\":%" PRIu64, comma, libcint_reason_name(i),
                   all.reasons[i]);
            comma = ",";
        }
    }
    printf("}}\n");
}

/* What is no character of its own in JSON, or may be none, is a '?'. */
static void print_error(const char *text)
{
    printf("{\"error\":\"");
    for (; *text; text++) {
        putchar(*text < ' ' || *text > '~' || strchr("\"\\", *text) ? '?'
                                                                   : *text);
    }
    printf("\"}\n");
}

static void set_policy(Server *server, const char *text)
{
    struct libcint_config *config = malloc(libcint_size(LIBCINT_CONFIG));
    struct libcint_error error;
    unsigned i;

    if (!config) {
        err(EXIT_FAILURE, "memory");
    }
    if (libcint_config_parse(config, text, &error)) {
        print_error(error.text);
        free(config);
        return;
    }
    memcpy(server->config, config, libcint_size(LIBCINT_CONFIG));
    free(config);
    for (i = 0; i < server->nr_queues; i++) {
        queue_configure(&server->queue[i], now_ns());
    }
    print_stats(server);
}

static void command(Server *server, const char *line)
{
    if (!strncmp(line, "policy ", 7)) {
        set_policy(server, line + 7);
    } else if (!strcmp(line, "stats")) {
        print_stats(server);
    } else {
        print_error("expected stats or policy POLICY");
    }
    fflush(stdout);
}

/* Lines of standard input, each of which is answered when it is there. */
typedef struct Typed {
    char text[256];
    size_t used;
} Typed;

static void command_end(Server *server, Typed *typed)
{
    typed->text[typed->used] = 0;
    command(server, typed->text);
    typed->used = 0;
}

/* A line that is too long is none of the words, whatever its end is. */
static void take_byte(Server *server, Typed *typed, char byte)
{
    if (byte == '\n') {
        command_end(server, typed);
    } else if (typed->used < sizeof(typed->text) - 1) {
        typed->text[typed->used++] = byte;
    } else {
        typed->text[0] = '?';
    }
}

/* False at the end of the input. */
static bool from_stdin(Server *server, Typed *typed)
{
    char bytes[256];
    ssize_t got = read(STDIN_FILENO, bytes, sizeof(bytes)), i;

    for (i = 0; i < got; i++) {
        take_byte(server, typed, bytes[i]);
    }
    if (!got && typed->used) {
        command_end(server, typed);
    }
    return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

/*
 * The loop
 */

/* A file that says nothing any more is none: it would be ready for good. */
static void kicked(Queue *queue)
{
    uint64_t count;
    ssize_t got = read(queue->kick_fd, &count, sizeof(count));

    if (got == sizeof(count)) {
        queue->stats.kicks += count;
    } else if (got >= 0 || (errno != EAGAIN && errno != EINTR)) {
        close_fd(&queue->kick_fd);
    }
}

static int64_t next_due(const Server *server)
{
    int64_t due = LIBCINT_NEVER, other;
    unsigned i;

    for (i = 0; i < server->nr_queues; i++) {
        other = queue_due(&server->queue[i]);
        due = other < due ? other : due;
    }
    return due;
}

/* Sleeps until there is something to do. */
static void wait_for(struct pollfd *fds, unsigned n, int64_t due)
{
    int64_t now = now_ns(), left = due < now ? 0 : due - now;
    struct timespec timeout = {
        .tv_sec = left / 1000000000,
        .tv_nsec = left % 1000000000,
    };

    if (ppoll(fds, n, due == LIBCINT_NEVER ? NULL : &timeout, NULL) < 0 &&
        errno != EINTR) {
        err(EXIT_FAILURE, "ppoll");
    }
}

static void from_vmm(Server *server, int listener)
{
    if (server->fd < 0) {
        server->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    } else if (!server_message(server, now_ns())) {
        server_disconnect(server, now_ns());
    }
}

static void run_queues(Server *server, const struct pollfd *fds)
{
    unsigned i;

    for (i = 0; i < server->nr_queues; i++) {
        if (fds[i].revents && server->queue[i].kick_fd == fds[i].fd) {
            kicked(&server->queue[i]);
        }
        queue_run(&server->queue[i], now_ns());
    }
}

static void serve(Server *server, int listener)
{
    struct pollfd fds[POLL_KICKS + MOST_QUEUES] = {
        [POLL_STDIN] = { .fd = STDIN_FILENO, .events = POLLIN },
    };
    Typed typed = { .used = 0 };
    unsigned i;

    for (;;) {
        fds[POLL_VMM] = (struct pollfd) {
            .fd = server->fd < 0 ? listener : server->fd,
            .events = POLLIN,
        };
        for (i = 0; i < server->nr_queues; i++) {
            fds[POLL_KICKS + i] = (struct pollfd) {
                .fd = server->queue[i].runs ? server->queue[i].kick_fd : -1,
                .events = POLLIN,
            };
        }
        wait_for(fds, POLL_KICKS + server->nr_queues, next_due(server));
        run_queues(server, &fds[POLL_KICKS]);
        if (fds[POLL_STDIN].revents && !from_stdin(server, &typed)) {
            fds[POLL_STDIN].fd = -1;
        }
        if (fds[POLL_VMM].revents && !server->memory.lost) {
            from_vmm(server, listener);
        }
        if (server->memory.lost) {
            server_disconnect(server, now_ns());
        }
    }
}

/*
 * The command line
 */

static unsigned number(const char *option, const char *text, unsigned min,
                       unsigned max)
{
    unsigned value;
    int used = 0;

    if (sscanf(text, "%7u%n", &value, &used) != 1 || text[used] ||
        text[0] < '0' || text[0] > '9' || value < min || value > max) {
        errx(EXIT_USAGE, "%s %s: expected a number from %u to %u", option,
             text, min, max);
    }
    return value;
}

/* What a run before this one has left there, and nothing else. */
static void remove_socket(const char *path)
{
    struct stat found;

    if (!lstat(path, &found) && S_ISSOCK(found.st_mode)) {
        unlink(path);
    }
}

static int listen_on(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (strlen(path) >= sizeof(address.sun_path)) {
        errx(EXIT_USAGE, "%s: a socket's name has less than %zu bytes", path,
             sizeof(address.sun_path));
    }
    strcpy(address.sun_path, path);
    remove_socket(path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
        listen(fd, 1)) {
        err(EXIT_FAILURE, "%s", path);
    }
    return fd;
}

static Disk open_disk(const char *path)
{
    Disk disk = { .fd = open(path, O_RDWR | O_CLOEXEC) };
    off_t bytes = disk.fd < 0 ? -1 : lseek(disk.fd, 0, SEEK_END);

    if (bytes < 0) {
        err(EXIT_FAILURE, "%s", path);
    }
    if (bytes < SECTOR_BYTES) {
        errx(EXIT_FAILURE, "%s: a disk has %u bytes at least", path,
             SECTOR_BYTES);
    }
    disk.sectors = bytes / SECTOR_BYTES;
    return disk;
}

static struct libcint_config *config_of(const char *policy)
{
    struct libcint_config *config = malloc(libcint_size(LIBCINT_CONFIG));
    struct libcint_error error;

    if (!config) {
        err(EXIT_FAILURE, "memory");
    }
    if (libcint_config_parse(config, policy, &error)) {
        errx(EXIT_USAGE, "--policy %s", error.text);
    }
    return config;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "policy",     required_argument,  NULL, 'p' },
        { "latency-us", required_argument,  NULL, 'l' },
        { "apart-us",   required_argument,  NULL, 'a' },
        { "queues",     required_argument,  NULL, 'q' },
        { "help",       no_argument,        NULL, 'h' },
        { NULL, 0, NULL, 0 }
    };
    const char *policy = "cint:infer=content";
    Server server = { .fd = -1, .nr_queues = 1 };
    int64_t latency_ns = 0, apart_ns = 0;
    unsigned i;
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'p':
            policy = optarg;
            break;
        case 'l':
            latency_ns = 1000ll * number("--latency-us", optarg, 0, LONGEST_US);
            break;
        case 'a':
            apart_ns = 1000ll * number("--apart-us", optarg, 0, LONGEST_US);
            break;
        case 'q':
            server.nr_queues = number("--queues", optarg, 1, MOST_QUEUES);
            break;
        case 'h':
            fputs(usage, stdout);
            return EXIT_SUCCESS;
        default:
            return EXIT_USAGE;
        }
    }
    if (argc - optind != 2) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    signal(SIGPIPE, SIG_IGN);           /* of a call, or an answer here */
    server.config = config_of(policy);
    server.scope = malloc(libcint_size(LIBCINT_SCOPE));
    if (!server.scope) {
        err(EXIT_FAILURE, "memory");
    }
    libcint_scope_init(server.scope);
    server.disk = open_disk(argv[optind + 1]);
    server.disk.latency_ns = latency_ns;
    server.disk.apart_ns = apart_ns;
    for (i = 0; i < server.nr_queues; i++) {
        queue_init(&server.queue[i], server.scope, server.config, &server.disk);
    }
    memory_guard(&server.memory);
    serve(&server, listen_on(argv[optind]));
    return EXIT_SUCCESS;
}
