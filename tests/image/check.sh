# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What tenon image check says of images, and what a program says that really opens them in this order: the same.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tenon=$PWD/$BUILD/tenon

cat >"$work/host.c" <<'END'
/* host CPU LIST: opens images as the list, a verdict of tenon image check, has them, and prints what it should be. */
#include <stdio.h>
#include <string.h>
#include "tenon.h"
#include "tenon_image.h"
int host_add(int a, int b) { return a + b; }
int main(int argc, char **argv)
{
    struct tn_image *images[64], *image;
    struct tn_cpu cpu = {.size = sizeof cpu};
    struct tn_error err;
    struct tn_image_load_options options = {
        .size = sizeof options, .cpu = &cpu, .images = images, .resolver = tn_resolve_dlsym};
    char line[1000];
    FILE *list = fopen(argv[argc - 1], "r");
    if (tn_cpu_host(&cpu, &err) || tn_cpu_limit(&cpu, *argv[1] == '-' ? NULL : argv[1], &err))
        return puts(err.text), 2;
    while (list && fgets(line, sizeof line, list)) {
        size_t number;
        char file[256];
        if (sscanf(line, "%zu %255[^:]", &number, file) != 2 && sscanf(line, "- %*[^:]: %255[^:]", file) != 1)
            continue;
        if (tn_image_open(file, &options, &image, &err)) {
            printf("- %s: %s\n", tn_error_name(err.code), err.text);
            continue;
        }
        images[options.image_count++] = image;
        printf("%zu %s: for target %zu of %zu, %s\n", options.image_count, file, tn_image_chosen(image),
               tn_image_target_count(image), tn_image_target(image, tn_image_chosen(image))->name);
    }
    while (options.image_count)
        tn_image_close(images[--options.image_count]);
    return 0;
}
END
"$CC" -Wall -Werror -Iinclude "$work/host.c" "$BUILD/libtenon.a" -rdynamic -lpthread -ldl -o "$work/host" || exit 1
libraries=$(ldd "$work/host" | grep -o '/[^ ]*')

# image NAME FILE SOURCE [OPTION...]
image() {
    local name=$1 file=$2
    echo "$3" | "$LLVM_BIN/clang" -O1 -emit-llvm -fPIC -w -x c -c - -o "$work/input.bc" || exit 1
    shift 3
    (cd "$work" && "$tenon" build --kind=image --name "$name" -o "$file" input.bc "$@") || exit 1
}
image base base 'int g(int x) { return x + 1; } int h(int x) { return x; } int v = 3;'
image base other 'int g(int x) { return x + 2; } int h(int x) { return x; } int v = 4;'
image base changed 'long g(long x) { return x; } int h(int x) { return x; }'
image pkg pkg 'int g(int); extern int v; int p(void) { return g(v); }' --depends base
image half half 'int h(int); int q(void) { return h(1); }' --depends base
image top top 'int p(void), h(int); int t(void) { return p() + h(1); }' --depends pkg --depends base
image needs needs 'int host_add(int, int); int a(int x) { return host_add(x, 1); }'
image lacks lacks 'int host_missing(int, int); int a(int x) { return host_missing(x, 1); }'
image wide wide 'float w(float *a) { float s = 0; for (int i = 0; i < 99; i++) s += a[i]; return s; }' \
    --targets 'x86-64-v4'
image some some 'float w(float *a) { float s = 0; for (int i = 0; i < 99; i++) s += a[i]; return s; }' \
    --targets 'x86-64;x86-64-v2;x86-64-v3'
head -c 5000 "$work/pkg" >"$work/cut"
echo text >"$work/text"

# check CPU STATUS OPTION... FILES...: both say the same, and the status is this one; ?: whether all were really opened.
check() {
    local cpu=$1 wanted=$2 status
    shift 2
    [ "$cpu" = - ] || set -- --cpu "$cpu" "$@"
    (cd "$work" && "$tenon" image check "$@") >"$work/said"
    status=$?
    sed -i "s/: '[a-z]*', for/: for/" "$work/said"
    (cd "$work" && ./host "$cpu" said) >"$work/really" 2>&1
    [ "$wanted" != '?' ] || wanted=$(grep -c '^-' "$work/really" | sed 's/[1-9].*/1/')
    if [ "$status" != "$wanted" ] || ! cmp -s "$work/said" "$work/really"; then
        echo "not ok check $*: status $status; $(diff "$work/said" "$work/really" | head -n 5 | tr '\n' ' ')"
    elif [ "$(wc -l <"$work/said")" -lt 1 ]; then
        echo "not ok check $*: nothing was said"
    else
        echo "ok check $cpu $*"
    fi
}

# said NAME TEXT: what the last check has said.
said() { some "$1" "$(grep -x -e "$2" "$work/said")"; }

check - 0 base pkg top
check - 0 top half pkg base
said "what others depend on comes first" '1 base: .*'
check - 0 top pkg other
check - 1 pkg changed top half
said "what is used has changed" "- TN_ESTALE: pkg: it uses 'g' of the image 'base': wanted the function i32 (i32);.*"
said "so what depends on it cannot be opened" "- TN_EUNDEF: top: it depends on the image 'pkg', which is not among.*"
said "what uses the rest can" '2 half: .*'
check - 0 changed pkg base top half
check - 0 changed other base half top pkg
check - 1 pkg
check - 1 base cut text nothing
said "a file that is cut off" '- TN_EFORMAT: cut: .*'
said "and one that is not there" '- TN_EIO: nothing: .*'
programs=$(printf -- '--program %s ' ./host $libraries)
check - 0 $programs needs base
check - 1 $programs lacks needs
said "a symbol that the program lacks" '- TN_EUNDEF: lacks: .*host_missing.*'
check x86-64 0 some
said "the target follows the CPU" '1 some: for target 0 of 3, x86-64'
check x86-64-v2 1 wide some
said "one that fits none" '- TN_ENOTSUP: wide: .*'
for order in {base,other,changed,pkg,top,half}' '{base,pkg,changed,half}' '{top,pkg,base}' '{half,other}; do
    files=$(tr ' ' '\n' <<<"$order" | awk '!seen[$0]++' | tr '\n' ' ')
    check - '?' $files
done

# Types and symbols of the program that saved objects use.
cat >"$work/types.c" <<'END'
/* types save FILE | open FILE TYPE...: saves objects of two types of the program, or opens them with these types. */
#include <stdio.h>
#include <string.h>
#include "tenon.h"
#include "tenon_heap.h"
#include "tenon_save.h"
static const struct tn_type types[] = {
    {.name = "point", .kind = TN_KIND_LEAF, .alignment = 8, .size = 16},
    {.name = "edge", .kind = TN_KIND_LEAF, .alignment = 8, .size = 32},
};
int main(int argc, char **argv)
{
    struct tn_image_load_options options = {.size = sizeof options, .heaps = tn_image_heaps()};
    struct tn_image_type host_types[2];
    struct tn_save_type rows[2];
    struct tn_save_options how = {.size = sizeof how, .name = "types", .types = rows, .type_count = 2};
    struct tn_image *image;
    struct tn_save *save;
    struct tn_handle *object;
    struct tn_error err;
    int failed = tn_heap_create(NULL, &options.heap, &err) || tn_heap_attach(options.heap, &err);
    if (failed)
        return puts(err.text), 2;
    if (strcmp(argv[1], "open") == 0) {
        for (int i = 3; i < argc; i++)
            host_types[options.host_type_count++] =
                (struct tn_image_type){argv[i], &types[strcmp(argv[i], "point") != 0]};
        options.host_types = host_types;
        if (!tn_image_open(argv[2], &options, &image, &err))
            return puts("opened"), 0;
        return printf("%s: %s\n", tn_error_name(err.code), err.text), 1;
    }
    for (int i = 0; i < 2; i++)
        rows[i] = (struct tn_save_type){.size = sizeof rows[i], .type = &types[i], .flags = TN_SAVE_HOST_TYPE};
    failed = tn_save_create(options.heap, &how, &save, &err);
    for (int i = 0; i < 2 && !failed; i++)
        failed = tn_handle_new(options.heap, &types[i], 0, &object, &err) ||
                 tn_save_root(save, types[i].name, object, &err);
    failed = failed || tn_save_take(save, NULL, &err) || tn_save_write(save, argv[2], &err);
    return failed && puts(err.text);
}
END
"$CC" -Wall -Werror -Iinclude "$work/types.c" "$BUILD/libtenon.a" -lpthread -o "$work/types" &&
    (cd "$work" && ./types save shapes) || exit 1
# types STATUS TYPE...: what check says if the program has these types is what opening says
types() {
    local wanted=$1 status said really
    shift
    said=$(cd "$work" && "$tenon" image check $(printf -- '--type %s ' "$@") shapes)
    status=$?
    really=$(cd "$work" && ./types open shapes "$@")
    said=${said/#1 shapes: */opened}
    if [ "$status $said" = "$wanted ${really/#TN/- TN}" ]; then
        echo "ok check of types $*"
    else
        echo "not ok check of types $*: $status $said, not $wanted $really"
    fi
}
types 0 point edge
types 1 point
types 1 edge
some "the type is named" "$(cd "$work" && "$tenon" image check --type edge shapes |
    grep -x -- '- TN_EUNDEF: shapes: the program does not have: type point')"
types 1 other
succeeds "without --type a program has all" "$tenon" image check "$work/shapes"

# Symbols of the program that are stored to words of other images' objects.
cat >"$work/patched.c" <<'END'
/* patched save FILE CHANGED NAME...: saves records with an address of the program, and changes of them, which name the
 * addresses NAME. patched open FILE...: opens them in this order. */
#include <stdio.h>
#include <string.h>
#include "tenon.h"
#include "tenon_heap.h"
#include "tenon_save.h"
enum { RECORDS = 2 };
int anchors[1 + RECORDS], anchor_one, anchor_two;
static char **names;
static const struct tn_type record = {.name = "record", .kind = TN_KIND_LEAF, .alignment = 8, .size = 16};
static const struct tn_save_word word = {8, TN_SAVE_ADDRESS};
static const struct tn_save_type row = {.size = sizeof row, .type = &record, .words = &word, .word_count = 1};
static int name_of(void *context, const void *address, struct tn_save_name *out)
{
    size_t index = (size_t)((const int *)address - anchors);
    (void)context;
    out->symbol = index ? names[index - 1] : "anchor_one";
    out->addend = 0;
    return 0;
}
static int save(struct tn_heap *heap, const char *path, struct tn_handle **records, struct tn_image **images,
                size_t count)
{
    struct tn_save_options options = {.size = sizeof options, .name = path, .types = &row, .type_count = 1,
                                      .images = images, .image_count = count, .name_of = name_of};
    struct tn_save *to;
    struct tn_error err;
    int failed = tn_save_create(heap, &options, &to, &err);
    for (int i = 0; i < RECORDS && !failed; i++)
        failed = tn_save_root(to, i ? "second" : "first", records[i], &err);
    failed = failed || tn_save_take(to, NULL, &err) || tn_save_write(to, path, &err);
    return failed && puts(err.text);
}
static void set(struct tn_handle *handle, const void *address)
{
    struct tn_error err;
    if (tn_handle_write(handle, 8, &address, sizeof address, &err))
        puts(err.text);
}
int main(int argc, char **argv)
{
    struct tn_image_load_options options = {.size = sizeof options, .heaps = tn_image_heaps(),
                                            .resolver = tn_resolve_dlsym};
    struct tn_image *images[2];
    struct tn_handle *records[RECORDS];
    struct tn_error err;
    options.images = images;
    if (tn_heap_create(NULL, &options.heap, &err) || tn_heap_attach(options.heap, &err))
        return puts(err.text), 2;
    if (strcmp(argv[1], "open") == 0) {
        for (int i = 2; i < argc; i++, options.image_count++)
            if (tn_image_open(argv[i], &options, &images[i - 2], &err))
                return printf("%s: %s\n", tn_error_name(err.code), err.text), 1;
        return puts("opened"), 0;
    }
    names = argv + 4;
    for (int i = 0; i < RECORDS; i++) {
        if (tn_handle_new(options.heap, &record, 0, &records[i], &err))
            return puts(err.text), 2;
        set(records[i], anchors);
    }
    if (save(options.heap, argv[2], records, NULL, 0) || tn_image_open(argv[2], &options, &images[0], &err) ||
        tn_image_root(images[0], "first", records[0], &err) || tn_image_root(images[0], "second", records[1], &err))
        return 2;
    for (int i = 0; i < RECORDS; i++)
        set(records[i], &anchors[1 + i]);
    return save(options.heap, argv[3], records, images, 1);
}
END
"$CC" -Wall -Werror -Iinclude "$work/patched.c" "$BUILD/libtenon.a" -rdynamic -lpthread -ldl -o "$work/patched" ||
    exit 1
libraries=$(ldd "$work/patched" | grep -o '/[^ ]*')
# patched STATUS NAME NAME: the second image changes words to the addresses of these symbols.
patched() {
    local wanted=$1 status said really
    shift
    succeeds "patches to $*: they are saved" bash -c "cd '$work' && ./patched save plain changed $*"
    said=$(cd "$work" && "$tenon" image check $(printf -- '--program %s ' ./patched $libraries) plain changed)
    status=$?
    really=$(cd "$work" && ./patched open plain changed)
    said=$(sed -n "s/^2 changed: .*/opened/p; s/^- //p" <<<"$said")
    if [ "$status $said" = "$wanted $really" ]; then
        echo "ok check of patches to $*"
    else
        echo "not ok check of patches to $*: $status $said, not $wanted $really"
    fi
}
patched 0 anchor_two anchor_one
patched 1 anchor_two nobodys
patched 1 nobodys nothing
some "all are named" "$(cd "$work" && "$tenon" image check --program ./patched plain changed |
    grep -x -- '- TN_EUNDEF: changed: the program does not have: nobodys, nothing')"

# Another runtime, another architecture, and objects that are intended for the same addresses.
refused() { # STATUS TEXT ARGUMENT...
    local status=$1 text=$2
    shift 2
    (cd "$work" && "$tenon" image check "$@") >"$work/said"
    [ $? = "$status" ] || echo "not ok image check $*: the status is not $status"
    some "image check $*" "$(grep -x -e "$text" "$work/said")"
}
refused 0 "1 base: 'base', .*" --runtime 1 base
refused 1 "- TN_ENOTSUP: base: runtime ABI 1; the runtime's is 2" --runtime 2 base
refused 1 "- TN_ENOTSUP: base: architecture x86-64 (ELF machine 62); this is aarch64" --cpu cortex-a72 base
"$CC" -Iinclude -Isrc -rdynamic tests/image/source/values_host.c "$BUILD/tests/gc/copying.o" "$BUILD/libtenon.a" \
    -lpthread -o "$work/values" &&
    "$work/values" save "$work/heap" && cp "$work/heap" "$work/again" || exit 1
refused 0 "1 and 2 are intended for the same addresses: 2 is moved" heap again base
"$tenon" image rebase --base-salt x -o "$work/again" "$work/heap" >/dev/null || exit 1
(cd "$work" && "$tenon" image check heap again) >"$work/said"
some "other addresses are kept apart" "$(grep '^2 again' "$work/said")"
none "and nothing is moved" "$(grep moved "$work/said")"
