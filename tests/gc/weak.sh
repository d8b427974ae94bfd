# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Two modules define the same managed functions and the same global with references (tests/gc/weak): whatever the
# linkage, with groups or without, and however they are put together, one definition is used, and the stack maps of the
# others do no harm. Last, code that lies where its object's other code does not.
#
# Two properties of the linkage (whether another definition may replace this one, and whether it may be left out),
# groups and the ways of putting modules together are tried in pairs: each value of one with each value of any other.
# slow/weak.sh is all of them with one another.
#
# time limit: 600

. tests/build/check

: "${CC:=gcc}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tenon=$PWD/$BUILD/tenon
stress='TENON_GC_STRESS=1 TENON_GC_VERIFY=1'
"$CC" -Iinclude -rdynamic tests/image/source/collected_files.c "$BUILD/tests/gc/copying.o" "$BUILD/libtenon.a" \
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
    "$@" "$BUILD/tests/gc/copying.o" "$BUILD/libtenon.a" -lpthread -o "$out"
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

linkers=(
    "$CC -static"
    "$CC -static -Wl,--gc-sections"
    "$LLVM_BIN/clang -static -fuse-ld=lld -Wl,--gc-sections"
)

# in_all_ways NAME WHOLE MANY KINDS: objects whose functions are in one section are linked by the WHOLE of the linkers,
# those whose functions are in many sections by the MANY of them; KINDS of images are made from IR and an object.
in_all_ways() {
    local name=$1 sections kind with how
    for how in -O0 -O2 --lazy '-O0 --lazy'; do
        prints "$name, run $how" "$once" "$tenon" run $how "$work/first.ll" "$work/second.ll"
    done
    for sections in '' --function-sections; do
        objects "-O2 $sections" "-O0 $sections" || exit 1 # of which a map of the one fits no code of the other
        local all="$name, objects${sections:+ of many sections}"
        prints "$all" "$once" "$tenon" run "$work/first.o" "$work/second.o"
        prints "$all, the other one first" "$once" "$tenon" run "$work/second.o" "$work/first.o"
        prints "$all, IR and object" "$once" "$tenon" run --lazy "$work/first.ll" "$work/second.o"
        for with in $([ -n "$sections" ] && echo "$3" || echo "$2"); do
            link "$work/program" ${linkers[with]} "$work/first.o" "$work/second.o"
            prints "$all, ${linkers[with]##*/}" "$once" "$work/program"
        done
    done
    for kind in archive exe shared image; do
        built "$name, $kind" $kind "$work/first.ll" "$work/second.ll"
    done
    for kind in $4; do
        built "$name, $kind of IR and object" $kind "$work/first.ll" "$work/second.o"
    done
}

# try FIRST SECOND GROUP WHOLE MANY KINDS
try() {
    modules "$1" "$2" "$3"
    in_all_ways "${1:-strong} and ${2:-strong}${3:+ comdat}" "$4" "$5" "$6"
}

if [ -z "${each_with_each-}" ]; then
    try weak weak comdat 0 2 'exe shared'
    try weak_odr weak_odr '' 1 0 'exe image'
    try linkonce linkonce '' 2 1 'shared image'
    try linkonce_odr linkonce_odr comdat '0 2' 1 'exe image'
    try '' weak '' 1 2 shared
    try weak '' '' 0 1 image
else
    for group in '' comdat; do
        for linkage in weak weak_odr linkonce linkonce_odr; do
            try $linkage $linkage "$group" '0 1 2' '0 1 2' 'exe shared image'
        done
    done
    try '' weak '' '0 1 2' '0 1 2' 'exe shared image'
    try weak '' '' '0 1 2' '0 1 2' 'exe shared image'
fi

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
# beside_native LINKAGE GROUP LINKER...: the first linker has the object of -O0, the second that of -O2
beside_native() {
    local name="$1 ${2:+comdat }beside native code" how with
    sed "s/LINKAGE/$1/; s/COMDAT/${2:+\$shared = comdat any}/; s/GROUP/${2:+comdat}/" tests/gc/weak/caller.ll \
        >"$work/caller.ll"
    "$CC" ${2:+-Wa,--defsym,GROUP=1} -c "$work/native.s" -o "$work/native.o" || exit 1
    native='101 101 101' managed=${2:+'1 1 1'}
    : "${managed:=$native}"
    shift 2
    for how in -O0 -O2; do
        prints "$name, run $how" "$managed" "$tenon" run $how "$work/caller.ll" "$work/native.o"
        prints "$name, native code first, run $how" "$native" "$tenon" run $how "$work/native.o" "$work/caller.ll"
        "$tenon" compile $how "$work/caller.ll" -o "$work/caller.o" || exit 1
        prints "$name, object, run $how" "$managed" "$tenon" run "$work/caller.o" "$work/native.o"
        prints "$name, native code first, object, run $how" "$native" "$tenon" run "$work/native.o" "$work/caller.o"
        for with in $1; do
            link "$work/program" ${linkers[with]} "$work/caller.o" "$work/native.o"
            prints "$name, ${linkers[with]##*/} $how" "$managed" "$work/program"
            link "$work/program" ${linkers[with]} "$work/native.o" "$work/caller.o"
            prints "$name, native code first, ${linkers[with]##*/} $how" "$native" "$work/program"
        done
        shift
    done
}
if [ -z "${each_with_each-}" ]; then
    beside_native weak '' 0 2
    beside_native linkonce '' 2 0
    beside_native linkonce_odr comdat 0 2
    beside_native weak_odr comdat 2 0
    beside_native linkonce comdat '' 0
else
    beside_native weak '' '0 2' '0 2'
    beside_native linkonce '' '0 2' '0 2'
    beside_native linkonce_odr comdat '0 2' '0 2'
    beside_native weak_odr comdat '0 2' '0 2'
    beside_native linkonce comdat '0 2' '0 2'
fi

once='4950 45'
for how in -O0 -O2; do # lazily, each function would be a link of its own, with bounds of its own
    prints "a section with bounds, run $how" "$once" "$tenon" run $how tests/gc/weak/section.ll
done
