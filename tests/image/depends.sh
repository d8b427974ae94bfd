# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# An image that calls another one: opened beside that, and refused without it. uses.sh has what was built anew since.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tenon=$BUILD/tenon
targets='x86-64;x86-64-v3'

cat >"$work/base.c" <<'END'
int sum(const int *values, int count)
{
    int result = BEGIN;
    for (int i = 0; i < count; i++)
        result += values[i];
    return result;
}
END
cat >"$work/user.c" <<'END'
int sum(const int *values, int count);
int twice(const int *values, int count)
{
    int result = 0;
    for (int i = 0; i < 2; i++)
        result += sum(values, count);
    return result;
}
END
cat >"$work/host.c" <<'END'
#include <stdio.h>
#include "tenon_image.h"
static const int values[] = {1, 2, 4};
static int fail(const struct tn_error *err)
{
    return printf("%s: %s\n", tn_error_name(err->code), err->text), 1;
}
/* host [BASE] USER: without BASE it is linked in. */
#ifdef LINKED
extern const char base[];
#endif
int main(int argc, char **argv)
{
    struct tn_image *image = NULL, *user;
    struct tn_error err;
    struct tn_image_load_options options = {.size = sizeof options, .images = &image, .image_count = 1};
#ifdef LINKED
    if (tn_image_open_linked(base, NULL, &image, &err))
        return fail(&err);
#else
    if (argc > 2 && tn_image_open(argv[1], NULL, &image, &err))
        return fail(&err);
#endif
    options.image_count = image != NULL;
    if (tn_image_open(argv[argc - 1], &options, &user, &err))
        return fail(&err);
    printf("%d\n", ((int (*)(const int *, int))tn_image_lookup(user, "twice"))(values, 3));
    tn_image_close(user);
    tn_image_close(image);
    return 0;
}
END
compile() { "$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -emit-llvm -fPIC -c "$@"; }
compile -DBEGIN=0 "$work/base.c" -o "$work/base.bc" && compile -DBEGIN=1 "$work/base.c" -o "$work/other.bc" &&
    compile "$work/user.c" -o "$work/user.bc" || exit 1
succeeds "a base" "$tenon" build --kind=image --name base --targets "$targets" -o "$work/base" "$work/base.bc"
succeeds "the same as an archive" "$tenon" build --name base --targets "$targets" -o "$work/base.a" "$work/base.bc"
succeeds "another base" "$tenon" build --kind=image --name base --targets "$targets" -o "$work/other" "$work/other.bc"
build_user() { "$tenon" build --kind=image --name user --targets "$targets" -o "$work/user" "$@" "$work/user.bc"; }
succeeds "an image that depends on the base" build_user --depends "$work/base"
some "it is shown" "$("$tenon" inspect "$work/user" | grep -A1 'depends on' | grep 'base, build id')"
none "calls of the base load its address, and need no stubs" "$("$tenon" inspect "$work/user" | grep ' \.plt$')"
some "which calls of others have" "$(build_user && "$tenon" inspect "$work/user" | grep ' \.plt$')"
build_user --depends "$work/base"
"$CC" -Wall -Werror -Iinclude "$work/host.c" "$BUILD/libtenon.a" -static -o "$work/host" &&
    "$CC" -Wall -Werror -Iinclude -DLINKED "$work/host.c" "$work/base.a" "$BUILD/libtenon.a" -static \
        -o "$work/linked" || exit 1
build_user --depends "$work/base" --depends "$work/base.a"
some "once, however often it is named" "$("$tenon" inspect "$work/user" | grep -c 'base, build id' | grep -x 1)"
some "it is opened beside the base" "$("$work/host" "$work/base" "$work/user" | grep -x 14)"
some "and beside the base that is linked in" "$("$work/linked" "$work/user" | grep -x 14)"
some "not alone" "$("$work/host" "$work/user" | grep "TN_EUNDEF: .* depends on the image 'base', which is not among")"
some "but beside another build of the base that has what is used" \
    "$("$work/host" "$work/other" "$work/user" | grep -x 16)"
echo 'int sum(const int *, int); int once(const int *v, int n) { return sum(v, n); }' >"$work/once.c" &&
    compile "$work/once.c" -o "$work/once.bc" && build_user --shards 2 "$work/once.bc"
some "one that does not say so lacks a symbol, which is named once" \
    "$("$work/host" "$work/user" | grep 'TN_EUNDEF: .* does not have: sum$')"
build_user
some "a file without an image is none to depend on" "$(build_user --depends "$work/base.bc" 2>&1 | grep 'no image')"
build_user --depends "$work/base" --ninja "$work/user.ninja"
some "ninja knows of it" "$(grep -F "| " "$work/user.ninja" | grep -F "$work/base")"

# Two of the same name, as they have without --name: each file has its own.
compile -Dsum=more -DBEGIN=10 "$work/base.c" -o "$work/more.bc"
echo 'int sum(const int *, int), more(const int *, int);
int twice(const int *v, int n) { return sum(v, n) + more(v, n); }' >"$work/both.c"
compile "$work/both.c" -o "$work/both.bc"
for part in base more; do "$tenon" build --kind=image --targets "$targets" -o "$work/$part.image" "$work/$part.bc"; done
"$tenon" build --kind=image --targets "$targets" --depends "$work/base.image" --depends "$work/more.image" \
    -o "$work/both.image" "$work/both.bc"
cat >"$work/several.c" <<'END'
#include <stdio.h>
#include "tenon_image.h"
int main(int argc, char **argv)
{
    static const int values[] = {1, 2, 4};
    struct tn_image *images[4] = {NULL};
    struct tn_error err;
    for (int i = 1; i < argc; i++) {
        struct tn_image_load_options options = {.size = sizeof options, .images = images, .image_count = (size_t)i - 1};
        if (tn_image_open(argv[i], &options, &images[i - 1], &err))
            return printf("%s: %s\n", tn_error_name(err.code), err.text), 1;
    }
    printf("%d\n", ((int (*)(const int *, int))tn_image_lookup(images[argc - 2], "twice"))(values, 3));
    for (int i = argc - 2; i >= 0; i--)
        tn_image_close(images[i]);
    return 0;
}
END
"$CC" -Wall -Werror -Iinclude "$work/several.c" "$BUILD/libtenon.a" -static -o "$work/several" || exit 1
for order in 'base more' 'more base'; do
    some "two of the same name, $order" "$("$work/several" $(printf "$work/%s.image " $order both) | grep -x 24)"
done
some "one of them is not enough" \
    "$("$work/several" "$work/more.image" "$work/both.image" |
        grep "TN_ESTALE: .* it uses 'sum' of the image 'tn_image': .* found nothing of this name")"
