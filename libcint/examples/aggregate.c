/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a time to aggregate does to who waits, and what policies do that know:
 * one reads, and reads again when it is told (depth 1); another one keeps 32
 * commands in flight, which it submits 16 at a time. A command takes 80 us. No
 * guest and no device: time is a number, so the table is the same each time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libcint.h>

#define READ_NS     80000       /* of a command of either */
#define STEP_NS     1000        /* how far apart commands of a batch are done */
#define BATCH       16
#define BATCHES     2
#define COMMANDS    (1 + BATCHES * BATCH)
#define END_NS      1000000000

typedef struct Client {
    unsigned first, n;          /* its commands */
    unsigned left;              /* of them in flight, or done and not taken */
    int64_t waited_ns;          /* for interrupts, after being done */
    unsigned done;
} Client;

typedef struct World {
    struct libcint_cq *cq;
    struct libcint_sq *sq;
    char *cmd;
    int64_t due[COMMANDS];      /* LIBCINT_NEVER: not in flight */
    int64_t posted[COMMANDS];   /* LIBCINT_NEVER: not posted, or taken */
    Client client[1 + BATCHES];
    unsigned interrupts;
} World;

static void *memory(size_t bytes)
{
    void *found = calloc(1, bytes);

    if (!found) {
        abort();
    }
    return found;
}

static struct libcint_cmd *cmd(World *w, unsigned i)
{
    return (struct libcint_cmd *)(w->cmd + i * libcint_size(LIBCINT_CMD));
}

static void submit(World *w, Client *client, int64_t now)
{
    unsigned i;

    client->left = client->n;
    for (i = client->first; i < client->first + client->n; i++) {
        w->due[i] = now + READ_NS + (i - client->first) * STEP_NS;
        libcint_submit(w->sq, cmd(w, i), now, NULL);
    }
    libcint_batch_end(w->sq, now);
}

/* The driver takes what is posted; who has all it wanted goes on. */
static void take_all(World *w, int64_t now)
{
    Client *client;
    unsigned i;

    for (client = w->client; client < w->client + 1 + BATCHES; client++) {
        for (i = client->first; i < client->first + client->n; i++) {
            if (w->posted[i] != LIBCINT_NEVER) {
                client->waited_ns += now - w->posted[i];
                client->done++;
                client->left--;
                w->posted[i] = LIBCINT_NEVER;
            }
        }
    }
    libcint_head(w->cq, now, libcint_tail(w->cq));
    for (client = w->client; client < w->client + 1 + BATCHES; client++) {
        if (!client->left) {
            submit(w, client, now);
        }
    }
}

static void act(World *w, struct libcint_action action, int64_t now)
{
    if (action.fire != LIBCINT_NONE) {
        w->interrupts++;
        take_all(w, now);
    }
}

static int next_done(const World *w)
{
    int first = -1, i;

    for (i = 0; i < COMMANDS; i++) {
        if (w->due[i] != LIBCINT_NEVER &&
            (first < 0 || w->due[i] < w->due[first])) {
            first = i;
        }
    }
    return first;
}

static void complete(World *w, int i)
{
    int64_t now = w->due[i];

    w->due[i] = LIBCINT_NEVER;
    w->posted[i] = now;
    act(w, libcint_complete(w->sq, cmd(w, i), now, false), now);
    act(w, libcint_pass_end(w->cq, now), now);
}

static void run(World *w)
{
    int64_t now = 0, deadline;
    int i;

    while (now < END_NS) {
        deadline = libcint_deadline(w->cq);
        i = next_done(w);
        if (i >= 0 && w->due[i] < deadline) {
            now = w->due[i];
            complete(w, i);
        } else {
            now = deadline;
            act(w, libcint_timer(w->cq, now), now);
        }
    }
}

static void print(const char *policy, const World *w)
{
    const Client *reads = &w->client[0];
    unsigned i, done = reads->done;

    for (i = 1; i <= BATCHES; i++) {
        done += w->client[i].done;
    }
    printf("%-40s %10.1f %10u %10u %10.2f\n", policy,
           reads->waited_ns / 1e3 / reads->done, reads->done,
           done - reads->done, (double)done / w->interrupts);
}

static void try(const char *policy)
{
    struct libcint_config *config = memory(libcint_size(LIBCINT_CONFIG));
    struct libcint_scope *scope = memory(libcint_size(LIBCINT_SCOPE));
    World w = {
        .cq = memory(libcint_size(LIBCINT_CQ)),
        .sq = memory(libcint_size(LIBCINT_SQ)),
        .cmd = memory(COMMANDS * libcint_size(LIBCINT_CMD)),
    };
    struct libcint_error err;
    unsigned i;

    if (libcint_config_parse(config, policy, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    libcint_scope_init(scope);
    libcint_cq_init(w.cq, scope, 1024, config);
    libcint_sq_init(w.sq, w.cq);
    for (i = 0; i < COMMANDS; i++) {
        w.due[i] = w.posted[i] = LIBCINT_NEVER;
    }
    w.client[0] = (Client) { .first = 0, .n = 1 };
    for (i = 0; i < BATCHES; i++) {
        w.client[1 + i] = (Client) { .first = 1 + i * BATCH, .n = BATCH };
    }
    for (i = 0; i <= BATCHES; i++) {
        submit(&w, &w.client[i], 0);
    }
    run(&w);
    print(policy, &w);
    free(config);
    free(scope);
    free(w.cq);
    free(w.sq);
    free(w.cmd);
}

int main(int argc, char **argv)
{
    static const char *const policies[] = {
        "default",
        "static:static-time=100000,static-thr=64",
        "static:static-time=200000,static-thr=64",
        "adaptive",
        "cint:infer=all",
        "auto",
    };
    unsigned i;

    printf("%-40s %10s %10s %10s %10s\n", "policy", "lone waits", "lone",
           "batched", "CQEs per");
    printf("%-40s %10s %10s %10s %10s\n", "", "us", "reads/s", "reads/s",
           "interrupt");
    for (i = 0; argc < 2 && i < sizeof(policies) / sizeof(*policies); i++) {
        try(policies[i]);
    }
    for (i = 1; i < (unsigned)argc; i++) {
        try(argv[i]);
    }
    return 0;
}
