# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Stale functions that are first called at exit (doc/PACKAGES.md, "Stale functions"): they are compiled as long as no
# static object of LLVM is destroyed; later, calls go on in on_failure.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PKG_CONFIG_PATH=$PWD/$BUILD/pkgconfig

cat >"$work/host.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tenon_codegen.h"
#include "tenon_image.h"
static struct tn_image *images[2];
static struct tn_error err;
static void told(void *context, const struct tn_error *error) {
    (void)context;
    printf("%s: %s\n", tn_error_name(error->code), error->text);
}
static int failed(int x) { return -x; }
int show(const char *name, int value) { return printf("%s=%d\n", name, value); }
static void call(const char *name) { show(name, ((int (*)(int))tn_image_lookup(images[1], name))(5)); }
static void late(void) { call("late"); }
static const char text[] = "define i32 @other(i32 %x) {\n  %y = udiv i32 %x, 7\n  ret i32 %y\n}\n";
static int build(void) {
    const struct tn_image_input input = {"other.ll", text, sizeof text - 1};
    struct tn_image_options options = {.size = sizeof options, .opt_level = 2};
    struct tn_buffer out[TN_IMAGE_OUTPUTS];
    return tn_image_build(&input, 1, &options, out, NULL, &err);
}
static int compile(void) {
    struct tn_buffer out;
    return tn_compile("other.ll", text, sizeof text - 1, NULL, &out, NULL, &err);
}
int main(int argc, char **argv) {
    struct tn_image_load_options options = {.size = sizeof options, .images = images, .resolver = tn_resolve_dlsym,
        .compiler = tn_codegen_compiler(), .recompiler = tn_image_recompiler(), .on_error = told,
        .on_failure = (void (*)(void))failed};
    for (; options.image_count < 2; options.image_count++)
        if (tn_image_open(argv[1 + options.image_count], &options, &images[options.image_count], &err))
            return printf("%s\n", err.text), 1;
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "late") == 0)
            atexit(late);
        else if (strcmp(argv[i], "build") == 0)
            build();
        else if (strcmp(argv[i], "compile") == 0)
            compile();
        else
            call(argv[i]);
    }
    return 0;
}
END
cat >"$work/user.c" <<'END'
int atexit(void (*)(void));
int show(const char *, int);
int g(int);
int early(int x) { return g(x); }
int late(int x) { return g(x) + 1; }
int middle(int x) { return g(x) + 2; }
static void call(void) { show("early", early(5)); }
__attribute__((constructor)) static void begin(void) { atexit(call); }
END
echo 'int g(int x) { return x + 1; }' >"$work/base.c"
echo 'int g(int x) { return x + 100; }' >"$work/changed.c"
"$CC" -B"$LLVM_BIN" -fuse-ld=lld -Wall -Wextra -Werror -Iinclude -rdynamic "$work/host.c" \
    $(pkg-config --cflags --libs tenon-codegen) -pthread -lm -o "$work/host" || exit 1
for file in base changed user; do
    "$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -fPIC -emit-llvm -c "$work/$file.c" -o "$work/$file.bc" || exit 1
done
build() { "$BUILD/tenon" build --kind=image "$@"; }
build --name base -o "$work/base" "$work/base.bc" && build --name base -o "$work/changed" "$work/changed.bc" &&
    build --name user --keep-ir --depends "$work/base" --use "$work/base.bc" -o "$work/user" "$work/user.bc" || exit 1

# exits NAME WANTED WHAT...: what the program prints that does this and exits.
exits() { answers "$1" "$2" "$work/host" "$work/changed" "$work/user" "${@:3}"; }
none_left="TN_ENOTSUP: 'early': early\$body has failed: user(early): the process ends, and its compiler has ended \
before, for a call of 'early'
early=-5"
exits "nothing was compiled before" early=105
exits "a function was" $'middle=107\n'"$none_left" middle
exits "it was that one" $'early=105\nearly=105' early
exits "a function for exit compiles" $'late=106\n'"$none_left" late
exits "it comes after the last compilation" $'middle=107\nlate=106\n'"$none_left" middle late
exits "an image was built" "$none_left" build
exits "a module was compiled" "$none_left" compile
answers "the base is the same" $'middle=8\nearly=6' "$work/host" "$work/base" "$work/user" middle
