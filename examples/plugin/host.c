/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A product that is one static file and yet loads plugins: relocatable objects, as the compiler leaves them. No dlopen, no
 * dynamic loader, no linker on the machine where it runs. Plugins see what is exported here, and nothing else. */

#include <stdio.h>

#include <tenon.h>

void host_say(const char *text)
{
    printf("the host was told: %s\n", text);
}

int host_version = 3;

TN_EXPORT(host_say);
TN_EXPORT(host_version);

static int load(struct tn_session *session, const char *path, struct tn_error *err)
{
    struct tn_library *library; /* one per plugin: their names do not meet */
    void *address;
    int code;
    if ((code = tn_library_create(session, path, &library, err)) ||
        (code = tn_add_resolver(library, tn_resolve_exports, NULL, err)) || (code = tn_add_file(library, path, err)) ||
        (code = tn_lookup(library, "plugin_start", &address, err)))
        return code;
    int (*start)(int) = (int (*)(int))address;
    printf("%s answers %d\n", path, start(20));
    return 0;
}

int main(int argc, char **argv)
{
    struct tn_session *session;
    struct tn_error error;
    int code = tn_session_create(NULL, &session, &error);
    for (int i = 1; i < argc && !code; i++)
        code = load(session, argv[i], &error);
    if (code) {
        fprintf(stderr, "host: %s\n", error.text);
        return 1;
    }
    tn_session_destroy(session);
    return 0;
}
