/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * libcint: when a device should interrupt for its completions.
 */
#ifndef LIBCINT_H
#define LIBCINT_H

/**
 * DOC: Overview
 *
 * A device, or whoever emulates one, completes commands of a queue and has to
 * tell somebody. The library says when: for each event of a queue it answers
 * whether an interrupt (a message, a write to an eventfd) is due now, and when
 * at the latest it wants to be asked again. It is the engine that QEMU's NVMe
 * controller has with cint (docs/policies.md describes its policies), and knows
 * nothing of NVMe, files or threads.
 *
 * It is arithmetic: no clock, no timer, no lock, no memory of its own. Time is
 * int64_t ns of any one monotonic clock, and is handed in. Objects live in
 * memory of the caller's, whose sizes libcint_size() tells.
 *
 * A queue with one command::
 *
 *     struct libcint_config *config = malloc(libcint_size(LIBCINT_CONFIG));
 *     struct libcint_scope *scope = malloc(libcint_size(LIBCINT_SCOPE));
 *     struct libcint_cq *cq = malloc(libcint_size(LIBCINT_CQ));
 *     struct libcint_sq *sq = malloc(libcint_size(LIBCINT_SQ));
 *     struct libcint_cmd *cmd = malloc(libcint_size(LIBCINT_CMD));
 *     struct libcint_action action;
 *     struct libcint_error err;
 *
 *     if (libcint_config_parse(config, "cint:infer=all", &err)) {
 *         fprintf(stderr, "%s\n", err.text);
 *         exit(1);
 *     }
 *     libcint_scope_init(scope);
 *     libcint_cq_init(cq, scope, 1024, config);
 *     libcint_sq_init(sq, cq);
 *
 *     libcint_submit(sq, cmd, 1000, NULL);
 *     libcint_batch_end(sq, 1000);
 *     action = libcint_complete(sq, cmd, 81000, false);
 *     if (action.fire != LIBCINT_NONE) {
 *         printf("%s\n", libcint_reason_name(action.reason));
 *     }
 */

/**
 * DOC: Order of calls
 *
 * Before any other event at time @now, and when the time of libcint_deadline()
 * has come::
 *
 *     while (libcint_deadline(cq) <= now) {
 *         act(libcint_timer(cq, now));
 *     }
 *
 * A command is announced by libcint_submit() when it is fetched, and ends by
 * libcint_complete() once its completion is where the driver looks for it, or
 * by libcint_cancel(). libcint_batch_end() follows the last command that one
 * doorbell or kick published, libcint_pass_end() the last completion that is
 * posted in one go. libcint_head() says how far the driver has got. Each answer
 * is to be carried out before the next call; after it, one timer is to be set
 * for libcint_deadline().
 */

/**
 * DOC: Threads
 *
 * All calls for the queues of one scope come from one thread at a time.
 * Different scopes have nothing in common.
 */

/**
 * DOC: Errors
 *
 * Events have none. Functions that read a configuration return 0 or -EINVAL,
 * and leave a sentence in struct libcint_error that names the word and the
 * valid ones (NULL: not wanted).
 */

/**
 * DOC: Versions
 *
 * Structures that may grow begin with their size, as the program knows it; 0 is
 * that of version 0.1. What is behind it is taken for 0. Objects are opaque:
 * their sizes are asked for when the program runs. Policies and parameters are
 * names, so that a library with more of them is a later one of the same ABI.
 * Symbols have a version, too (LIBCINT_0).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All that the shared library exports is between this and the pop. */
#pragma GCC visibility push(default)

#define LIBCINT_VERSION "0.1.0"

/* No deadline: nothing happens unless there is another event. */
#define LIBCINT_NEVER   INT64_MAX

struct libcint_config;
struct libcint_scope;
struct libcint_cq;
struct libcint_sq;
struct libcint_cmd;

/**
 * enum libcint_object - what needs memory of the caller's
 * @LIBCINT_CONFIG: a policy and its parameters
 * @LIBCINT_SCOPE: what the queues of one device have in common
 * @LIBCINT_CQ: a completion queue
 * @LIBCINT_SQ: a submission queue
 * @LIBCINT_CMD: a command from submission to completion
 */
enum libcint_object {
    LIBCINT_CONFIG,
    LIBCINT_SCOPE,
    LIBCINT_CQ,
    LIBCINT_SQ,
    LIBCINT_CMD,
};

/**
 * enum libcint_fire - what is to be sent
 * @LIBCINT_NONE: nothing
 * @LIBCINT_FULL: an interrupt; the driver takes everything that is posted
 * @LIBCINT_URGENT: an interrupt of a class of its own; the driver takes Urgent
 *                  completions only. Not before libcint_has_classes()
 */
enum libcint_fire {
    LIBCINT_NONE,
    LIBCINT_FULL,
    LIBCINT_URGENT,
};

/**
 * enum libcint_hint - who waits, as far as the sender says
 * @LIBCINT_UNMARKED: it does not say
 * @LIBCINT_HINT_URGENT: somebody waits for this command
 * @LIBCINT_HINT_BARRIER: somebody waits for it and those before it
 */
enum libcint_hint {
    LIBCINT_UNMARKED,
    LIBCINT_HINT_URGENT,
    LIBCINT_HINT_BARRIER,
};

/**
 * enum libcint_content - what a command is for
 * @LIBCINT_PLAIN: nothing is known
 * @LIBCINT_NOW: something is made durable: a flush, a write with FUA
 * @LIBCINT_AHEAD: something that may be asked for later: readahead
 */
enum libcint_content {
    LIBCINT_PLAIN,
    LIBCINT_NOW,
    LIBCINT_AHEAD,
};

/**
 * enum libcint_type - what values a parameter has
 * @LIBCINT_BOOL: 0 and 1, written on and off
 * @LIBCINT_NUMBER: from min to max
 * @LIBCINT_WORD: one of a list
 */
enum libcint_type {
    LIBCINT_BOOL,
    LIBCINT_NUMBER,
    LIBCINT_WORD,
};

/**
 * struct libcint_error - what is wrong with a configuration
 * @text: a sentence that names the word and the valid ones, as many of them as
 *        there is room for, without a newline
 */
struct libcint_error {
    char text[256];
};

/**
 * struct libcint_action - what an event led to
 * @fire: enum libcint_fire
 * @reason: why; the number in the log page of the NVMe device
 * @covered: completions that no interrupt has told of before this one
 * @reserved: 0
 */
struct libcint_action {
    uint32_t fire;
    uint32_t reason;
    uint32_t covered;
    uint32_t reserved;
};

/**
 * struct libcint_command - what is known of a command; all 0 will do
 * @size: sizeof, or 0
 * @hint: enum libcint_hint
 * @content: enum libcint_content; read where infer is content or both
 * @buffer: the address of its data for the driver, 0 if it has none; read where
 *          infer is learn or both
 */
struct libcint_command {
    uint32_t size;
    uint16_t hint;
    uint16_t content;
    uint64_t buffer;
};

/**
 * struct libcint_param - a parameter
 * @size: of what the library fills
 * @type: enum libcint_type
 * @name: as libcint_config_set() takes it
 * @unit: "ns", "ms", "/s", or "" for a plain number
 * @help: what it means, in one line
 * @words: of a LIBCINT_WORD: its values, NULL terminated
 * @min: the least value; of words their numbers from 0
 * @max: the largest value
 * @def: the default
 */
struct libcint_param {
    uint32_t size;
    uint32_t type;
    const char *name;
    const char *unit;
    const char *help;
    const char *const *words;
    uint64_t min;
    uint64_t max;
    uint64_t def;
};

/**
 * libcint_version() - the version of the library that is loaded
 *
 * Context: any thread.
 * Return: as LIBCINT_VERSION.
 */
const char *libcint_version(void);

/**
 * libcint_size() - bytes that an object takes
 * @object: which
 *
 * The memory has to be aligned as malloc() aligns it. It need not be cleared,
 * and is the caller's to free, at any time.
 *
 * Context: any thread.
 * Return: the size, a multiple of 8; 0 for an object that there is not.
 */
size_t libcint_size(enum libcint_object object);

/**
 * libcint_param() - the parameters, one by one
 * @index: from 0 on
 * @param: filled; `.size` is set by the caller
 *
 * The first one is policy.
 *
 * Context: any thread. Strings are the library's and stay.
 * Return: true; false where there are no more.
 */
bool libcint_param(unsigned index, struct libcint_param *param);

/**
 * libcint_reason_name() - a reason in a word
 * @reason: of a struct libcint_action
 *
 * Context: any thread.
 * Return: "thr", "quiet", "urgent", ...; "unknown" for one that there is not.
 */
const char *libcint_reason_name(uint32_t reason);

/**
 * libcint_config_init() - defaults
 * @config: LIBCINT_CONFIG bytes; policy cint and the default of each parameter
 *
 * Context: any thread that has @config.
 */
void libcint_config_init(struct libcint_config *config);

/**
 * libcint_config_set() - set the policy or a parameter
 * @config: an initialised one
 * @name: of the parameter, as docs/policies.md has it: "policy", "thr", ...
 * @value: a number in the parameter's unit, on or off, or a word
 * @err: what is wrong; NULL: not wanted
 *
 * Context: any thread that has @config.
 * Return: 0; -EINVAL: there is no such parameter, or the value is none of its.
 */
int libcint_config_set(struct libcint_config *config, const char *name,
                       const char *value, struct libcint_error *err);

/**
 * libcint_config_parse() - a policy with parameters
 * @config: LIBCINT_CONFIG bytes; filled
 * @text: "NAME" or "NAME:parameter=value,...", as "static:static-thr=16"
 * @err: what is wrong; NULL: not wanted
 *
 * Context: any thread that has @config.
 * Return: 0; -EINVAL: a word is none, or parameters do not go together.
 */
int libcint_config_parse(struct libcint_config *config, const char *text,
                         struct libcint_error *err);

/**
 * libcint_config_check() - do the parameters go together?
 * @config: a configuration of which each value is in its range
 * @err: which do not; NULL: not wanted
 *
 * To be asked after the last libcint_config_set(), and before the configuration
 * is used.
 *
 * Context: any thread that has @config.
 * Return: 0; -EINVAL: they do not.
 */
int libcint_config_check(const struct libcint_config *config,
                         struct libcint_error *err);

/**
 * libcint_scope_init() - a device without queues
 * @scope: LIBCINT_SCOPE bytes
 *
 * Context: the thread of the scope.
 */
void libcint_scope_init(struct libcint_scope *scope);

/**
 * libcint_cq_init() - a completion queue, or an old one that is reset
 * @cq: LIBCINT_CQ bytes
 * @scope: the device's
 * @entries: of the queue, 2 to 65536; one less can be outstanding
 * @config: copied
 *
 * Of a queue that is reset all commands have to be cancelled before.
 *
 * Context: the thread of the scope.
 */
void libcint_cq_init(struct libcint_cq *cq, struct libcint_scope *scope,
                     uint32_t entries, const struct libcint_config *config);

/**
 * libcint_sq_init() - a submission queue whose completions go to @cq
 * @sq: LIBCINT_SQ bytes
 * @cq: several may have the same
 *
 * Context: the thread of the scope.
 */
void libcint_sq_init(struct libcint_sq *sq, struct libcint_cq *cq);

/**
 * libcint_sq_delete() - a submission queue goes, with all that is in flight
 * @sq: the queue
 * @now: ns
 *
 * Context: the thread of the scope.
 * Return: what to do.
 */
struct libcint_action libcint_sq_delete(struct libcint_sq *sq, int64_t now);

/**
 * libcint_submit() - a command was fetched
 * @sq: the queue that it is from
 * @cmd: LIBCINT_CMD bytes, which are the library's until it ends
 * @now: ns
 * @command: what is known of it; NULL: nothing
 *
 * Never leads to an interrupt.
 *
 * Context: the thread of the scope.
 */
void libcint_submit(struct libcint_sq *sq, struct libcint_cmd *cmd, int64_t now,
                    const struct libcint_command *command);

/**
 * libcint_batch_end() - the last command that one doorbell published is fetched
 * @sq: the queue
 * @now: ns
 *
 * By this it is known who submits alone, and what is the last of a batch, where
 * the policy is to infer who waits. A driver that rings for what the device has
 * fetched already rings all the same.
 *
 * Context: the thread of the scope.
 * Return: what to do.
 */
struct libcint_action libcint_batch_end(struct libcint_sq *sq, int64_t now);

/**
 * libcint_complete() - a command's completion was posted
 * @sq: the queue that it was from
 * @cmd: of libcint_submit(); the caller's again
 * @now: ns
 * @failed: its status is not success: that is told at once
 *
 * Context: the thread of the scope.
 * Return: what to do.
 */
struct libcint_action libcint_complete(struct libcint_sq *sq,
                                       struct libcint_cmd *cmd, int64_t now,
                                       bool failed);

/**
 * libcint_pass_end() - the completions that are posted in one go are posted
 * @cq: the queue
 * @now: ns, that of the last libcint_complete()
 *
 * Context: the thread of the scope.
 * Return: what to do.
 */
struct libcint_action libcint_pass_end(struct libcint_cq *cq, int64_t now);

/**
 * libcint_cancel() - a command will not complete
 * @sq: the queue that it was from
 * @cmd: of libcint_submit(); the caller's again
 * @now: ns
 *
 * Context: the thread of the scope.
 * Return: what to do.
 */
struct libcint_action libcint_cancel(struct libcint_sq *sq,
                                     struct libcint_cmd *cmd, int64_t now);

/**
 * libcint_head() - the driver has consumed completions
 * @cq: the queue
 * @now: ns
 * @head: how many in all since libcint_cq_init(), modulo 2^32; more than there
 *        are is the driver's mistake and counts as all
 *
 * Context: the thread of the scope.
 * Return: what to do.
 */
struct libcint_action libcint_head(struct libcint_cq *cq, int64_t now,
                                   uint32_t head);

/**
 * libcint_deadline() - when to call libcint_timer()
 * @cq: the queue
 *
 * Context: the thread of the scope, after each event.
 * Return: ns, or LIBCINT_NEVER.
 */
int64_t libcint_deadline(const struct libcint_cq *cq);

/**
 * libcint_timer() - the time of libcint_deadline() has come
 * @cq: the queue
 * @now: ns, which may be later than that; earlier is harmless, and
 *       LIBCINT_NEVER is no time
 *
 * Context: the thread of the scope.
 * Return: what to do.
 */
struct libcint_action libcint_timer(struct libcint_cq *cq, int64_t now);

/**
 * libcint_configure() - another configuration from here on
 * @cq: the queue
 * @now: ns
 * @config: copied
 *
 * What is pending is told at once: no change strands it.
 *
 * Context: the thread of the scope.
 * Return: what to do.
 */
struct libcint_action libcint_configure(struct libcint_cq *cq, int64_t now,
                                        const struct libcint_config *config);

/**
 * libcint_has_classes() - the driver can tell LIBCINT_URGENT from LIBCINT_FULL
 * @cq: the queue, for which that is false at first
 * @now: ns
 * @yes: whether it can
 *
 * Context: the thread of the scope.
 * Return: what to do.
 */
struct libcint_action libcint_has_classes(struct libcint_cq *cq, int64_t now,
                                          bool yes);

/**
 * libcint_tail() - completions posted
 * @cq: the queue
 *
 * Context: the thread of the scope.
 * Return: all since libcint_cq_init(), modulo 2^32.
 */
uint32_t libcint_tail(const struct libcint_cq *cq);

/**
 * libcint_pending() - completions that nobody was told of
 * @cq: the queue
 *
 * Context: the thread of the scope.
 * Return: how many are neither told of nor consumed.
 */
uint32_t libcint_pending(const struct libcint_cq *cq);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* LIBCINT_H */
