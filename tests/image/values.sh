# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Images of code that uses types and objects of an image with saved objects (tenon build --value).

. tests/build/check
. tests/image/support/saved_code.bash

values+=(--value absent=type:nothing)

build() { "$tenon" build --targets 'x86-64;x86-64-v3' --depends "$work/heap" "${values[@]}" "$@"; }

managed $source/values.c -o "$work/code.bc" && managed -fPIC $source/values.c -o "$work/pic.bc" &&
    "$CC" -Iinclude -Isrc -rdynamic $source/values_host.c "$BUILD/tests/gc/copying.o" \
        "$BUILD/libtenon.a" -lpthread -o "$work/host" &&
    "$work/host" save "$work/heap" || exit 1

# runs NAME COMMAND...: with each collector, under stress, and with the heap displaced.
runs() {
    local name=$1 collector
    shift
    for collector in generational copy concurrent; do
        for env in "TENON_GC=$collector" "TENON_GC=$collector $stress RELOCATE=1"; do
            env $env timeout 200 "$@" >"$work/got" 2>"$work/err"
            local status=$?
            if [ "$status" = 0 ] && cmp -s "$work/used" "$work/got"; then
                echo "ok $name, $env"
            else
                echo "not ok $name, $env: status $status $(head -n 1 "$work/err") $(grep -m 1 '^not' "$work/got")"
            fi
        done
    done
}

for form in -O0 -O1 '-O2 --shards 2' -O3; do
    succeeds "$form: a file" build --kind=image $form -o "$work/image" "$work/pic.bc"
    runs "$form: a file" "$work/host" run "$work/heap" "$work/image"
done
succeeds "a shared library" build --kind=shared -O2 -o "$work/shared" "$work/pic.bc"
runs "a shared library" "$work/host" run "$work/heap" "$work/shared"
succeeds "an archive" build -O2 -o "$work/image.a" "$work/code.bc"
succeeds "it is linked in" "$CC" -static -DLINKED -Iinclude -Isrc $source/values_host.c "$work/image.a" \
    "$BUILD/tests/gc/copying.o" "$BUILD/libtenon.a" -lpthread -o "$work/linked"
runs "linked in" "$work/linked" run "$work/heap"

succeeds "a build file" build -O2 --shards 2 --ninja "$work/build.ninja" -o "$work/ninja.a" "$work/code.bc"
succeeds "ninja" ninja -C "$work" -f build.ninja
build -O2 --shards 2 -o "$work/image.a" "$work/code.bc"
succeeds "makes the same" cmp "$work/ninja.a" "$work/image.a"

some "the image says what it uses" "$("$tenon" inspect "$work/image.a" | grep -A 4 '^its code uses' |
    grep -c "^  type 'struct node'\|^  type 'struct nodes'\|^  type 'weak'\|^  root 'first'" | grep -x 4)"

# refused NAME TEXT COMMAND...
refused() {
    local name=$1 text=$2
    shift 2
    "$@" >"$work/got" 2>&1
    some "$name" "$(grep -- "$text" "$work/got")"
}
refused "there has to be a heap" '^TN_ENOTSUP: .*: its code uses saved objects, and the options name no heap' \
    "$work/host" run "$work/heap" "$work/image" heap
refused "and the image" "^TN_EUNDEF: .*it depends on the image 'list'" \
    "$work/host" run "$work/heap" "$work/image" image
values+=(--value chosen=root:none --value puts=type:none)
succeeds "what is not there" build --kind=image -o "$work/image" "$work/pic.bc"
refused "is named" "^TN_EUNDEF: .*no image that it depends on has: root 'none'$" \
    "$work/host" run "$work/heap" "$work/image"
printf '%s\n' 'extern char first_node; char *where = &first_node; char *get(void) { return where; }' >"$work/data.c"
"$LLVM_BIN/clang" -O1 -emit-llvm -c "$work/data.c" -o "$work/data.bc"
refused "initial values have no such address" "the initial value of 'where' refers to 'first_node', whose address" \
    build -o "$work/refused" "$work/data.bc"
for text in first_node first_node=first =root:first first_node=type: 'first_node=object:first'; do
    refused "--value $text" "--value: '$text' is neither" build --value "$text" -o "$work/refused" "$work/data.bc"
done

# The heap is moved: the code's image finds it by its build id, wherever it is intended to be.
first_zone() { readelf -lW "$1" | awk '$1 == "LOAD" && ++n == 2 { print $3 }'; }
moved() { "$tenon" image rebase "$work/heap" -o "$work/moved" "$@"; }
said="$(moved --base 0x123450000000) $(first_zone "$work/moved")"
some "it is moved to an address" "$([ "$said" = "0x123450000000 0x0000123450001000" ] && echo yes)"
runs "moved" "$work/host" run "$work/moved" "$work/shared"
one=$(moved --base-salt one) other=$(moved --base-salt other)
some "salts choose addresses" "$([ "$one" != "$other" ] && [ "$one" = "$(moved --base-salt one)" ] && echo yes)"
runs "moved by a salt" "$work/host" run "$work/moved" "$work/shared"
moved >/dev/null
succeeds "without an option, it is the old file" cmp "$work/heap" "$work/moved"
