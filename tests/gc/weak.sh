# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Two modules define the same managed functions and the same global with references (tests/gc/weak): whatever the
# linkage, with groups or without, and however they are put together, one definition is used, and the stack maps of the
# others do no harm. Last, code that lies where its object's other code does not.
#
# time limit: 600

. tests/build/check

: "${CC:=gcc}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tenon=$PWD/$BUILD/tenon
stress='TENON_GC_STRESS=1 TENON_GC_VERIFY=1'
"$CC" -Iinclude -rdynamic tests/image/source/collected_files.c "$BUILD/libtenon.a" -Wl,-u,tn_collector_copying \
    -lpthread -o "$work/loading" || exit 1

# prints NAME WANTED COMMAND...
prints() {
    local name=$1 wanted=$2 got
    shift 2
    got=$(env $stress timeout 60 "$@" 2>&1)
    if [ "$got" = "$wanted" ]; then echo "ok $name"; else echo "not ok $name: $(echo "$got" | tr '\n' '|')"; fi
}

# modules FIRST SECOND GROUP: writes both, with these linkages.
modules() {
    local group=${3:+, $3}
    sed "s/LINKAGE/$1/; s/COMDAT/$3/; s/VARIABLE/$group/" tests/gc/weak/first.ll >"$work/first.ll"
    sed "s/LINKAGE/$2/; s/COMDAT/$3/; s/VARIABLE/$group/" tests/gc/weak/second.ll >"$work/second.ll"
}

# objects FIRST SECOND: with these options.
objects() { "$tenon" compile $1 "$work/first.ll" -o "$work/first.o" &&
    "$tenon" compile $2 "$work/second.ll" -o "$work/second.o"; }

link() {
    local out=$1
    shift
    "$@" "$BUILD/libtenon.a" -Wl,-u,tn_collector_copying -lpthread -o "$out"
}

# built NAME KIND INPUT...
built() {
    local name=$1 kind=$2
    shift 2
    succeeds "$name: it is built" "$tenon" build --kind="$kind" -o "$work/out" "$@"
    case $kind in
    exe) prints "$name" "$once" env -u TENON_GC "$work/out" ;; # it contains the default collector
    archive)
        succeeds "$name: it is linked" link "$work/linked" "$CC" -static -Wl,--whole-archive "$work/out" \
            -Wl,--no-whole-archive
        prints "$name" "$once" "$work/linked"
        ;;
    *) prints "$name" "$twice" "$work/loading" "$work/out" ;;
    esac
}

once=$'4950 45\n4950 45'
twice=$once$'\n'$once

# in_all_ways NAME
in_all_ways() {
    local name=$1 sections kind
    for how in -O0 -O2 --lazy '-O0 --lazy'; do
        prints "$name, run $how" "$once" "$tenon" run $how "$work/first.ll" "$work/second.ll"
    done
    for sections in '' --function-sections; do
        objects "-O2 $sections" "-O0 $sections" || exit 1 # of which a map of the one fits no code of the other
        local all="$name, objects${sections:+ of many sections}"
        prints "$all" "$once" "$tenon" run "$work/first.o" "$work/second.o"
        prints "$all, the other one first" "$once" "$tenon" run "$work/second.o" "$work/first.o"
        prints "$all, IR and object" "$once" "$tenon" run --lazy "$work/first.ll" "$work/second.o"
        for with in "$CC -static" "$CC -static -Wl,--gc-sections" \
            "$LLVM_BIN/clang -static -fuse-ld=lld -Wl,--gc-sections"; do
            link "$work/program" $with "$work/first.o" "$work/second.o"
            prints "$all, ${with##*/}" "$once" "$work/program"
        done
    done
    for kind in archive exe shared image; do
        built "$name, $kind" $kind "$work/first.ll" "$work/second.ll"
    done
    for kind in exe shared image; do
        built "$name, $kind of IR and object" $kind "$work/first.ll" "$work/second.o"
    done
}

for group in '' comdat; do
    for linkage in weak weak_odr linkonce linkonce_odr; do
        modules $linkage $linkage "$group"
        in_all_ways "$linkage $group"
    done
done
modules '' weak ''
in_all_ways 'strong and weak'
modules weak '' ''
in_all_ways 'weak and strong'

# ---- native code beside it ----

# The definition that the linker chooses is called in every way: the native one if that is strong, of two in groups the
# first.
cat >"$work/native.s" <<'END'
.macro value
    lea 100(%rdi), %rax
    ret
.endm
.ifdef GROUP
.section .text.shared,"axG",@progbits,shared,comdat
.weak shared
.else
.text
.globl shared
.endif
.type shared, @function
shared: value
.size shared, . - shared
.section .note.GNU-stack,"",@progbits
END
# beside_native LINKAGE GROUP
beside_native() {
    local name="$1 ${2:+comdat }beside native code" how
    sed "s/LINKAGE/$1/; s/COMDAT/${2:+\$shared = comdat any}/; s/GROUP/${2:+comdat}/" tests/gc/weak/caller.ll \
        >"$work/caller.ll"
    "$CC" ${2:+-Wa,--defsym,GROUP=1} -c "$work/native.s" -o "$work/native.o" || exit 1
    native='101 101 101' managed=${2:+'1 1 1'}
    : "${managed:=$native}"
    for how in -O0 -O2; do
        prints "$name, run $how" "$managed" "$tenon" run $how "$work/caller.ll" "$work/native.o"
        prints "$name, native code first, run $how" "$native" "$tenon" run $how "$work/native.o" "$work/caller.ll"
        "$tenon" compile $how "$work/caller.ll" -o "$work/caller.o" || exit 1
        prints "$name, object, run $how" "$managed" "$tenon" run "$work/caller.o" "$work/native.o"
        prints "$name, native code first, object, run $how" "$native" "$tenon" run "$work/native.o" "$work/caller.o"
        for with in "$CC -static" "$LLVM_BIN/clang -static -fuse-ld=lld -Wl,--gc-sections"; do
            link "$work/program" $with "$work/caller.o" "$work/native.o"
            prints "$name, ${with##*/} $how" "$managed" "$work/program"
            link "$work/program" $with "$work/native.o" "$work/caller.o"
            prints "$name, native code first, ${with##*/} $how" "$native" "$work/program"
        done
    done
}
beside_native weak ''
beside_native linkonce ''
beside_native linkonce_odr comdat
beside_native weak_odr comdat
beside_native linkonce comdat

once='4950 45'
for how in -O0 -O2; do # lazily, each function would be a link of its own, with bounds of its own
    prints "a section with bounds, run $how" "$once" "$tenon" run $how tests/gc/weak/section.ll
done
