/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compiling in processes of their own: a server that is a fork of this command. */

#include <stdlib.h>

#include "lib/tool.h"
#include "remote/service.h"
#include "tenon_codegen.h"

static struct tn_compiler *server;

int tool_serve(const struct tn_serve_options *options, struct tn_error *err)
{
    const struct tn__service service = {.compiler = *tool_compiler(), .whole = tn_compile};
    return tn__serve(&service, options, err);
}

bool tool_isolate(const struct settings *settings)
{
    enum { USUAL_MS = 5 * 60 * 1000 }; /* LLVM takes some damaged modules for work without end */
    struct tn_error error;
    size_t deadline = USUAL_MS;
    if (settings->deadline && !settings->isolate)
        return tool_fail(STATUS_USAGE, "option '--deadline' needs '--isolate'"), false;
    if (!tool_take_number("--deadline", settings->deadline, 0, UINT32_MAX, &deadline))
        return false;
    const struct tn_compile_server_options options = {
        .size = sizeof options, .serve = tool_serve, .deadline_ms = deadline};
    if (!settings->isolate || !tn_compile_server_start(&options, &server, &error))
        return true;
    return tool_fail(STATUS_FAILURE, "option '--isolate': %s", error.text), false;
}

void tool_end_isolation(void)
{
    tn_compile_server_stop(server);
    server = NULL;
}

const struct tn_compiler *tool_isolated(void)
{
    return server;
}
