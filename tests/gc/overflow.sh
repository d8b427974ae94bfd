# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Recursion without an end: the tool says in which function the stack is full, in whichever thread; then, and for other
# faults, what led there, and the program ends as it would have.

: "${BUILD:=build}" "${CC:=cc}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
out=$BUILD/tests/gc/overflow.out
mkdir -p "$out"
ulimit -c 0
"$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -Iinclude -emit-llvm -c tests/gc/stop/overflow.c \
    -o "$out/overflow.bc" || exit 1
"$BUILD/tenon" compile -O2 "$out/overflow.bc" -o "$out/overflow.o" &&
    "$CC" -static "$out/overflow.o" "$BUILD/tests/gc/copying.o" "$BUILD/libtenon.a" -o "$out/overflow" || exit 1

# check NAME EXPECTED COMMAND...: ends by SIGSEGV; what it prints matches, but for the lines of functions.
check() {
    local name=$1 expected=$2 said
    shift 2
    (exec timeout 60 "$@") >"$out/log" 2>&1
    local status=$?
    said=$(grep -v 'Segmentation fault\|^  ' "$out/log")
    if [ "$status" = 139 ] && [[ $said =~ ^$expected$ ]]; then
        echo "ok gc/overflow: $name"
    else
        echo "not ok gc/overflow: $name: $status $said"
    fi
}

fails=$'tenon run: the program fails with SIGSEGV[^\n]*' then=$'\n'$fails
full='tenon run: the stack of thread [0-9]+ is full: [0-9]{4,} calls of managed functions, the last in '
leaf="tenon run: the stack of thread [0-9]+ is full in 'descend_leaf'"
for opt in -O0 -O2; do
    check "main $opt" "$full'descend'$then" "$BUILD/tenon" run $opt "$out/overflow.bc" -- main
    check "thread $opt" "$full'descend'$then" "$BUILD/tenon" run $opt "$out/overflow.bc" -- thread
    for which in child 'thread of a child' 'child of a thread'; do
        check "$which $opt" "$full'descend'$then$then" \
            "$BUILD/tenon" run $opt "$out/overflow.bc" -- "$which" # the parent ends as the child did
    done
    check "native code in between $opt" "$full'compare'$then" "$BUILD/tenon" run $opt "$out/overflow.bc" -- native
    check "leaf $opt" "$leaf$then" "$BUILD/tenon" run $opt "$out/overflow.bc" -- leaf
    check "leaf after a call $opt" "$leaf$then" "$BUILD/tenon" run $opt "$out/overflow.bc" -- "leaf after a call"
    check "another fault $opt" "$fails" "$BUILD/tenon" run $opt "$out/overflow.bc" -- other
done
check "main, not asked for" "" "$out/overflow" main
check "thread, not asked for" "" "$out/overflow" thread
