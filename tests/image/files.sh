# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Files that our own linker writes: --kind=shared and --kind=image. They run as they are loaded by dlopen and by
# tn_image_open, also after `strip`, and other tools understand them.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
targets='x86-64;x86-64-v2;x86-64-v3;x86-64-v4,clone_all;haswell,base(3)'
source=tests/image/source
tenon=$BUILD/tenon
declare -A no_hash=([shared]= [image]='-e no.hash.section.present')

compile() { "$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -emit-llvm -c "$@"; }
link() { "$CC" -Wall -Wextra -Werror -Iinclude "$@"; }

# says NAME EXPECTED COMMAND...
says() {
    local name=$1 expected=$2 said
    shift 2
    said=$("$@" 2>&1)
    if [ "$said" = "$expected" ]; then echo "ok $name"; else echo "not ok $name: $said"; fi
}

compile $source/work.c -o "$work/work.bc" && link $source/program.c "$BUILD/libtenon.a" -static -o "$work/loading" ||
    exit 1
for kind in shared image; do
    file=$work/work.$kind
    succeeds "$kind: it is written" "$tenon" build --kind=$kind --targets "$targets" -o "$file" "$work/work.bc"
    cp "$file" "$work/again"
    "$tenon" build --kind=$kind --threads 3 --targets "$targets" -o "$file" "$work/work.bc"
    succeeds "$kind: it is the same every time" cmp "$file" "$work/again"
    for way in 'strip' 'strip -g' 'objcopy' 'eu-strip -o'; do
        cp "$file" "$work/$kind.${way%% *}"
        case $way in
        objcopy) $way "$file" "$work/$kind.$way" ;;
        *-o) $way "$work/$kind.${way%% *}" "$file" ;;
        *) $way "$work/$kind.${way%% *}" ;;
        esac || echo "not ok $kind: $way"
        says "$kind: it is loaded after $way" "x86-64: 91 91 8 42 1 108 6" "$work/loading" x86-64 \
            "$work/$kind.${way%% *}"
    done
    says "$kind: it is loaded" "x86-64: 91 91 8 42 1 108 6" "$work/loading" x86-64 "$file"
    none "$kind: its code needs no relocation" "$(readelf --wide --dynamic "$file" | grep TEXTREL)"
    none "$kind: readelf has no complaint" "$(readelf --all --wide "$file" 2>&1 >/dev/null)"
    # What elfutils 0.188 does not know: RELR, notes of others, segments without bytes in the file, protected symbols.
    # Nobody looks anything up in a file for tn_image_open, so it has no hash table.
    none "$kind: nor has elflint" "$(eu-elflint --gnu-ld "$file" 2>&1 | grep -v -e "'.relr.dyn' has wrong type" \
        -e "unknown object file note type 1 with owner name 'Tenon'" \
            -e 'is writable but contains no writable sections' \
        -e 'with non-default visibility' ${no_hash[$kind]} -e '^No errors$')"
    some "$kind: tenon inspect knows it" "$("$tenon" inspect "$file" | grep 'functions: 11, slots: 11')"
done
some "a library's functions can be looked up" "$(readelf --wide --dyn-syms "$work/work.shared" |
    grep ' FUNC .* squares$')"
none "those of the leaner file only by tn_image_lookup" "$(readelf --wide --dyn-syms "$work/work.image" | grep squares)"
compile -g $source/work.c -o "$work/debug.bc" && "$tenon" build --kind=shared --shards 2 --targets "$targets" \
    -o "$work/debug.shared" "$work/debug.bc"
some "a debugger finds lines" "$(gdb --batch --ex 'info line squares.tn_image.1' "$work/debug.shared" 2>&1 |
    grep 'Line 1[0-9] of .*work.c')"
some "debug data is in order" "$("$LLVM_BIN/llvm-dwarfdump" --verify "$work/debug.shared" | grep '^No errors')"
"$tenon" build --shards 2 --targets "$targets" -o "$work/debug.a" "$work/debug.bc" &&
    link -shared -B"$LLVM_BIN" -fuse-ld=lld -Wl,--whole-archive "$work/debug.a" -Wl,--no-whole-archive \
        -o "$work/debug.lld"
debug_names() { "$LLVM_BIN/llvm-dwarfdump" --debug-info --debug-line "$1" |
    grep -e DW_AT_.*name -e DW_AT_comp_dir -e 'name:'; }
string_sizes() { readelf --wide --sections "$1" | sed \
    -n 's/.* \(\.debug_[a-z_]*str\) .* 0* [0-9a-f]* \([0-9a-f]*\) 0[01] .*/\1 \2/p' | sort; }
debug_names "$work/debug.lld" >"$work/names"
says "debug data names what it does in ld.lld's file" "$(cat "$work/names")" debug_names "$work/debug.shared"
some "which is a lot" "$(grep squares "$work/names")"
says "and has each string once" "$(string_sizes "$work/debug.lld")" string_sizes "$work/debug.shared"
some "in both sections" "$(string_sizes "$work/debug.shared" | tr '\n' ' ' | grep 'str .*str ')"
perf=$(ls /usr/bin/perf_* /usr/bin/perf 2>/dev/null | head -n 1)
some "a profiler finds versions" "$("${perf:-perf}" probe --exec "$work/work.shared" --funcs 2>/dev/null |
    grep -x 'squares.tn_image.1')"
some "a debugger finds versions" "$(gdb --batch --ex 'info line squares.tn_image.1' "$work/work.shared" 2>&1 |
    grep 'squares.tn_image.1')"

# What a file may have, the same however it was made and however it is loaded.
"$LLVM_BIN/clang++" -O1 -Xclang -disable-llvm-passes -emit-llvm -fPIC -c $source/parts_cxx.cpp \
    -o "$work/parts_cxx.bc" &&
    compile -fPIC $source/parts.c -o "$work/parts.bc" || exit 1
build_parts() { "$tenon" build --targets 'x86-64;x86-64-v3' "$@" "$work/parts.bc" "$work/parts_cxx.bc"; }
build_parts -o "$work/parts.a" &&
    link -shared -Wl,--whole-archive "$work/parts.a" -Wl,--no-whole-archive -o "$work/parts.system" &&
    "${CXX:-g++}" -Wall -Wextra -Werror -Iinclude -rdynamic $source/files_host.cpp "$BUILD/libtenon.a" \
        -o "$work/host" || exit 1
expected=$("$work/host" dlopen "$work/parts.system")
numbers=' 126 108 1 40 7 42 13 21'
says "a host and the system's linker" "$numbers$numbers unwound 9 unwound 6 made7 passed 8 destroyed 1000" echo \
    "$expected"
for kind in shared image; do
    succeeds "parts.$kind: it is written" build_parts --kind=$kind -o "$work/parts.$kind"
    says "parts.$kind: tn_image_open" "$expected" "$work/host" tn_image_open "$work/parts.$kind"
done
says "parts.system: tn_image_open" "$expected" "$work/host" tn_image_open "$work/parts.system"
says "parts.shared: dlopen" "$expected" "$work/host" dlopen "$work/parts.shared"
some "parts.image: dlopen finds no names in it" "$("$work/host" dlopen "$work/parts.image" | grep 'no image')"

# Programs that are linked with a file share its data and the addresses of its functions, or they are not linked.
compile -fPIC -xc - -o "$work/shared.bc" <<'END' || exit 1
int counter = 7;
int *where_counter(void) { return &counter; }
int bump(int n) { for (int i = 0; i < n; i++) counter += i & 1; return counter; }
int (*where_bump(void))(int) { return bump; }
END
"$tenon" build --kind=shared --targets 'x86-64;x86-64-v3' -o "$work/libshared.so" "$work/shared.bc" || exit 1
cat >"$work/uses.c" <<'END'
#include <stdio.h>
#include "tenon_image.h"
extern const char tn_image[];
extern int counter, *where_counter(void), bump(int), (*where_bump(void))(int);
int main(void)
{
    struct tn_image *image;
    struct tn_error err;
    if (tn_image_open_linked(tn_image, NULL, &image, &err)) {
        puts(err.text);
        return 1;
    }
    printf("%d", bump(4));
    return printf(" %d %d %d\n", counter, where_counter() == &counter, where_bump() == bump) < 0;
}
END
for linker in bfd lld gold; do
    with() { link "$@" -B"$LLVM_BIN" -fuse-ld=$linker "$work/uses.c" "$work/libshared.so" "$BUILD/libtenon.a" \
        -Wl,-rpath,"$work" -o "$work/uses"; }
    for way in '-fno-pie -no-pie' '-fpie -pie'; do
        some "$linker: nothing is copied to a program of $way" \
            "$(with $way 2>&1 | grep -e 'protected .*\(tn_image\|counter\|bump\)' -e 'cannot preempt symbol: tn_image')"
    done
    succeeds "$linker: a program that is linked with it" with -fPIC -pie
    says "$linker: has no copies" '9 9 1 1' "$work/uses"
done

# Thread-local variables of the program.
cat >"$work/theirs.c" <<'END'
extern __attribute__((tls_model(MODEL))) _Thread_local int theirs;
int *where(void) { return &theirs; }
END
cat >"$work/program.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
_Thread_local int before[10], theirs;
int main(int argc, char **argv)
{
    void *library = dlopen(argv[argc - 1], RTLD_NOW);
    int *(*where)(void) = library ? (int *(*)(void))dlsym(library, "where") : NULL;
    return puts(!where ? dlerror() : where() == &theirs ? "it is the same" : "it is another") < 0;
}
END
compile -fPIC '-DMODEL="initial-exec"' "$work/theirs.c" -o "$work/theirs.bc" &&
    "$tenon" build --kind=shared -o "$work/theirs.so" "$work/theirs.bc" &&
    link -rdynamic "$work/program.c" -ldl -o "$work/program"
says "a variable is imported" 'it is the same' "$work/program" "$work/theirs.so"
compile -fPIC '-DMODEL="global-dynamic"' "$work/theirs.c" -o "$work/theirs.bc"
some "but only so that it can be" "$("$tenon" build --kind=shared -o "$work/theirs.so" "$work/theirs.bc" 2>&1 |
    grep "'theirs' is a thread-local variable of another file; declare it as initial-exec")"

# Objects of other compilers, in all their ways (tests/link/rules.mk); what is not position-independent is refused by
# name.
link $source/matrix_host.c -o "$work/matrix" && echo 'define void @nothing() { ret void }' >"$work/nothing.ll" || exit 1
good=0 bad= refused=0
for first in "$BUILD"/tests/link/data/matrix_a.*.o; do
    way=${first#*matrix_a.}
    if "$tenon" build --kind=shared -o "$work/matrix.so" "$work/nothing.ll" "$first" "${first/matrix_a/matrix_b}" \
        2>"$work/said"; then
        [ "$("$work/matrix" "$work/matrix.so")" = 0 ] && good=$((good + 1)) || bad="$bad $way"
    else
        grep -q 'matrix_[ab].*compile it with -fPIC' "$work/said" && [[ $way = *-fno-pic* || $way = *large* ]] &&
            refused=$((refused + 1)) || bad="$bad $way"
    fi
done
none "objects compiled in $good ways are linked, $refused are refused" "$bad"
some "both happen" "$([ $good -gt 9 ] && [ $refused -gt 4 ] && echo yes)"

# Where it lies, and what may be done with memory.
link -O1 $source/sharing.c "$BUILD/libtenon.a" -static -o "$work/sharing" || exit 1
for kind in shared image; do
    said=$("$work/sharing" "$work/work.$kind")
    some "$kind: two processes share constants and code: $said" \
        "$(echo "$said" | grep 'constants shared, code shared, [48] kB')"
    said=$("$work/sharing" "$work/work.$kind" mdwe)
    case $? in
    77) echo "ok $kind: it is loaded under PR_SET_MDWE # SKIP before Linux 6.3" ;;
    *) some "$kind: it is loaded under PR_SET_MDWE" "$(echo "$said" | grep 'code shared')" ;;
    esac
done
mkdir "$work/mount"
if unshare --mount true 2>/dev/null; then
    # on_mount OPTIONS COMMAND...: the command with a folder so mounted, in which the files lie.
    on_mount() {
        unshare --mount sh -c 'folder=$1 from=$2 options=$3; shift 3
            mount -t tmpfs none "$folder" && cp "$from"/work.* "$folder" && mount -o "remount,$options" "$folder" &&
            "$@"' \
            sh "$work/mount" "$work" "$@" 2>&1
    }
    for kind in shared image; do
        says "$kind: it is loaded from a read-only file system" "x86-64: 91 91 8 42 1 108 6" \
            on_mount ro "$work/loading" x86-64 "$work/mount/work.$kind"
        some "$kind: noexec is named" "$(on_mount noexec "$work/loading" x86-64 "$work/mount/work.$kind" |
            grep 'TN_EPERM: .*noexec')"
    done
else
    echo "ok it is loaded from a read-only file system # SKIP needs the right to mount"
fi

# The checksum of all that is loaded: kept by strip, missed by no byte, known of our own files only.
cat >"$work/verified.c" <<'END'
#include <stdio.h>
#include "tenon_image.h"
int main(int argc, char **argv)
{
    struct tn_image_load_options options = {.size = sizeof options, .flags = TN_IMAGE_VERIFY};
    struct tn_image *image;
    struct tn_error err;
    printf("%s\n", tn_image_open(argv[argc - 1], &options, &image, &err) ? err.text : "sound");
    return 0;
}
END
link "$work/verified.c" "$BUILD/libtenon.a" -o "$work/verified"
for kind in shared image; do
    file=$work/work.$kind
    for copy in "$file" "$work/$kind.strip" "$work/$kind.objcopy" "$work/$kind.eu-strip"; do
        succeeds "$(basename "$copy") is what was written" "$tenon" inspect --verify "$copy"
    done
    missed=
    while read -r _ at _ _ size _; do
        for share in 0 1 2 3; do
            byte=$((size ? at + (size - 1) * share / 3 : 64)) && [ $byte -lt 64 ] && byte=64
            cp "$file" "$work/spoiled"
            old=$(od -An -tu1 -j $byte -N 1 "$file")
            printf "\\x$(printf %x $((old ^ 16)))" | dd of="$work/spoiled" bs=1 seek=$byte conv=notrunc status=none
            "$work/verified" "$work/spoiled" | grep -q -e 'checksum of the whole' -e truncated || missed="$missed $byte"
        done
    done < <(readelf --wide --segments "$file" | grep " LOAD ")
    none "$kind: every byte that is loaded counts" "$missed"
    says "$kind: and it opens" sound "$work/verified" "$file"
done
"$tenon" build --targets "$targets" -o "$work/work.a" "$work/work.bc"
link -shared -Wl,--whole-archive "$work/work.a" -Wl,--no-whole-archive -o "$work/work.so"
some "a file by another linker has none" "$("$work/verified" "$work/work.so" | grep 'no checksum of the whole')"
