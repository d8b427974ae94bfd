/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A static product without LLVM: what it has to compile comes from a cache, or else from a compile server, which is
 * the tenon command in a process of its own. The product itself needs no file of the system:
 *
 *     tiny TENON ROOM
 *
 * starts TENON as the server, makes ROOM its root directory if it may, and keeps the cache there. */

#include <stdio.h>
#include <unistd.h>

#include <tenon_cache.h>
#include <tenon_jit.h>
#include <tenon_remote.h>

static const char ir[] = "define i32 @count_bits(i32 %x) {\n"
                         "  %n = call i32 @llvm.ctpop.i32(i32 %x)\n"
                         "  ret i32 %n\n"
                         "}\n"
                         "declare i32 @llvm.ctpop.i32(i32)\n";

static int run(const struct tn_compiler *compiler, struct tn_error *err)
{
    const struct tn_jit_options options = {.size = sizeof options, .compiler = compiler};
    const struct tn_jit_module module = {.size = sizeof module, .name = "bits", .ir = ir, .length = sizeof ir - 1};
    struct tn_jit *jit;
    void *address;
    int code = tn_jit_create(&options, &jit, err);
    if (code)
        return code;
    code = tn_jit_add_module(jit, NULL, &module, err);
    if (!code)
        code = tn_jit_lookup(jit, "count_bits", &address, err);
    if (!code)
        printf("%d bits\n", ((int (*)(int))address)(0x1234567));
    tn_jit_destroy(jit);
    return code;
}

/* A cache in front of the server. */
static int run_cached(const struct tn_compiler *server, struct tn_error *err)
{
    const struct tn_folder_options folder = {.size = sizeof folder, .path = "cache"};
    struct tn_store *store;
    struct tn_compiler *cache;
    int code = tn_store_open_folder(&folder, &store, err);
    if (code)
        return code;
    const struct tn_cache_options options = {
        .size = sizeof options, .stores = &store, .store_count = 1, .compiler = server};
    code = tn_cache_create(&options, &cache, err);
    if (!code)
        code = run(cache, err);
    if (!code) {
        struct tn_cache_stats stats = {.size = sizeof stats};
        tn_cache_stats(cache, &stats);
        printf("%s\n", stats.found ? "from the cache" : "compiled by the server");
    }
    tn_cache_destroy(cache);
    tn_store_close_folder(store);
    return code;
}

int main(int argc, char **argv)
{
    const char *const command[] = {argc > 1 ? argv[1] : "", "serve", "--compile", "fd:3", NULL};
    const struct tn_compile_server_options options = {.size = sizeof options, .command = command, .deadline_ms = 10000};
    struct tn_compiler *server;
    struct tn_error err;
    if (argc != 3)
        return fprintf(stderr, "usage: tiny TENON ROOM\n"), 2;
    if (tn_compile_server_start(&options, &server, &err))
        return fprintf(stderr, "%s\n", err.text), 1;
    if (chdir(argv[2]))
        return perror(argv[2]), 1;
    if (!chroot("."))
        printf("alone in %s\n", argv[2]);
    int code = run_cached(server, &err);
    if (code)
        fprintf(stderr, "%s\n", err.text);
    tn_compile_server_stop(server);
    return code != 0;
}
