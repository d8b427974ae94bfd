/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* forked LUA.o LIBLUA.a SCRIPT SQLITE.o LIBSQLITE.a SQL OUT: a server that forks. Loads Lua and runs the script
 * (OUT.before); then forks, and parent and child each load SQLite, which neither had, run the SQL (OUT.parent,
 * OUT.child), and run the script again with the Lua from before (into the same files). */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tenon.h>

enum { LUA, LIBLUA, SCRIPT, SQLITE, LIBSQLITE, SQL, OUT, WORDS };

typedef int program(int argc, char **argv);

static _Noreturn void die(const char *text)
{
    fprintf(stderr, "forked: %s\n", text);
    exit(1);
}

static void redirect(const char *stem, const char *suffix)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.%s", stem, suffix);
    if (!freopen(path, "w", stdout))
        die(path);
}

/* Loads a main and its archive into a library of their own. */
static program *load(struct tn_session *session, const char *object, const char *archive)
{
    struct tn_library *library;
    struct tn_error err;
    void *address;
    if (tn_library_create(session, object, &library, &err) || tn_add_resolver(library, tn_resolve_dlsym, NULL, &err) ||
        tn_add_file(library, object, &err) || tn_add_file(library, archive, &err) ||
        tn_lookup(library, "main", &address, &err) || tn_run_initializers(library, 0, NULL, NULL, &err))
        die(err.text);
    program *found;
    memcpy(&found, &address, sizeof found);
    return found;
}

static void run_lua(program *lua, char *script)
{
    char *argv[] = {"lua", script, NULL};
    if (lua(2, argv))
        die("Lua failed");
}

static void load_and_run_sqlite(struct tn_session *session, char *const *words)
{
    char *argv[] = {"sqlite", NULL};
    if (!freopen(words[SQL], "r", stdin) || load(session, words[SQLITE], words[LIBSQLITE])(1, argv))
        die("SQLite failed");
}

int main(int argc, char **argv)
{
    char *const *words = argv + 1;
    struct tn_session *session;
    struct tn_error err;
    if (argc != WORDS + 1 || tn_session_create(NULL, &session, &err))
        die(argc != WORDS + 1 ? "wrong number of arguments" : err.text);
    redirect(words[OUT], "before");
    program *lua = load(session, words[LUA], words[LIBLUA]);
    run_lua(lua, words[SCRIPT]);
    fflush(stdout);

    pid_t child = fork();
    if (child < 0)
        die("fork failed");
    redirect(words[OUT], child ? "parent" : "child");
    load_and_run_sqlite(session, words);
    run_lua(lua, words[SCRIPT]);
    fflush(stdout);
    int status = 0;
    if (child && (waitpid(child, &status, 0) != child || status))
        die("the child failed");
    tn_session_destroy(session);
    return 0;
}
