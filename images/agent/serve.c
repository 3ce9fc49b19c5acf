/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands of the host. */
#include "agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COMMAND_MAX (1024 * 1024)

static json_t *run_command(const json_t *cmd, const char *verb)
{
    char err[AGENT_ERR_LEN] = "out of memory";
    json_t *obj = json_copy((json_t *)cmd);
    json_t *reply;
    struct job job;

    if (!strcmp(verb, "exec")) {
        json_object_set(obj, "exec", json_object_get(cmd, "argv"));
    }
    if (!json_object_get(obj, "name")) {
        json_object_set_new(obj, "name", json_string(verb));
    }
    if (job_parse(obj, &job, err)) {
        reply = job_run(&job);
        job_free(&job);
    } else {
        reply = json_pack("{s:s, s:o}", "type", "error",
                          "message", util_text(err, strlen(err)));
    }
    json_decref(obj);
    return reply;
}

/* False after "poweroff". */
static bool obey(const char *line, size_t len)
{
    json_t *cmd = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
    const char *verb = json_string_value(json_object_get(cmd, "cmd"));
    json_t *id = json_object_get(cmd, "id");
    bool more = true;
    json_t *reply;

    if (!verb) {
        reply = json_pack("{s:s, s:s}", "type", "error", "message",
                          "a command is one line of JSON with \"id\" and "
                          "\"cmd\": \"exec\", \"fio\" or \"poweroff\"");
    } else if (!strcmp(verb, "poweroff")) {
        reply = json_pack("{s:s}", "type", "done");
        more = false;
    } else if (!strcmp(verb, "exec") || !strcmp(verb, "fio")) {
        reply = run_command(cmd, verb);
    } else {
        reply = json_pack("{s:s, s:s}", "type", "error", "message",
                          "unknown cmd; valid: exec, fio, poweroff");
    }
    if (id) {
        json_object_set(reply, "id", id);
    }
    agent_send(reply);
    json_decref(cmd);
    return more;
}

/* Obey the complete lines in @buf; the bytes that are left, or -1: stop. */
static ssize_t obey_lines(char *buf, size_t len)
{
    char *line = buf, *end;

    while ((end = memchr(line, '\n', len))) {
        if (!obey(line, end - line)) {
            return -1;
        }
        len -= end + 1 - line;
        line = end + 1;
    }
    memmove(buf, line, len);
    return len;
}

void agent_serve(void)
{
    struct timespec pause = { 0, 50000000 };
    char *buf = malloc(COMMAND_MAX);
    ssize_t len = 0;

    while (buf && len >= 0) {
        ssize_t n = port_read(buf + len, COMMAND_MAX - len);

        if (n < 0 && errno != EINTR) {
            break;
        }
        if (n == 0) {
            /* nobody is connected at the host's end: wait for the next one */
            nanosleep(&pause, NULL);
        }
        len += n > 0 ? n : 0;
        if (n > 0) {
            len = obey_lines(buf, len);
        }
        if (len == COMMAND_MAX) {
            agent_error("a command is longer than %d bytes", COMMAND_MAX);
            len = 0;
        }
    }
    free(buf);
}
