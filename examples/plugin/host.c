/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A product that is one static file and yet loads plugins: relocatable objects, as the compiler leaves them. No
 * dlopen, no dynamic loader, no linker on the machine where it runs. Plugins see what is exported here, and nothing
 * else. */

#include <stdbool.h>
#include <stdio.h>

#include <tenon.h>

void host_say(const char *text)
{
    printf("the host was told: %s\n", text);
}

int host_version = 3;

TN_EXPORT(host_say);
TN_EXPORT(host_version);

typedef int start_function(int number);

/* Each plugin has a library of its own, so their names do not clash. */
static bool load(struct tn_session *session, const char *path, void **start, struct tn_error *err)
{
    struct tn_library *library;
    return !tn_library_create(session, path, &library, err) &&
           !tn_add_resolver(library, tn_resolve_exports, NULL, err) && /* what this program exports */
           !tn_add_file(library, path, err) &&                         /* an object, or an archive of objects */
           !tn_lookup(library, "plugin_start", start, err);            /* links and initialises it */
}

int main(int argc, char **argv)
{
    struct tn_session *session;
    struct tn_error err;
    void *start;
    bool good = !tn_session_create(NULL, &session, &err);
    for (int i = 1; i < argc && good; i++) {
        good = load(session, argv[i], &start, &err);
        if (good)
            printf("%s answers %d\n", argv[i], ((start_function *)start)(20));
    }
    if (!good) {
        fprintf(stderr, "host: %s\n", err.text);
        return 1;
    }
    tn_session_destroy(session);
    return 0;
}
