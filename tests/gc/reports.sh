# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs that the runtime ends say why, in the command and in executables: a coroutine's stack, a destructor that
# comes after its thread was detached (tests/gc/reports). tests/gc/overflow.sh is about full stacks.

: "${BUILD:=build}" "${CC:=gcc}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
out=$BUILD/tests/gc/reports
headers=$(musl-gcc -### -xc /dev/null 2>&1 | grep -o '[^ ]*/include/[^ ]*musl[^ ]*' | head -n 1)
mkdir -p "$out"
ulimit -c 0

managed() { "$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -Iinclude -emit-llvm -c "$@"; }

# ends NAME OUTPUT WORDS COMMAND...: by SIGABRT; it has printed OUTPUT, and then said WORDS.
ends() {
    local name=$1 output=$2 words=$3 status
    shift 3
    (exec timeout 60 "$@") >"$out/got" 2>"$out/err"
    status=$?
    if [ "$status" = 134 ] && [ "$(tr '\n' ' ' <"$out/got")" = "$output" ] && grep -q -E "$words" "$out/err"; then
        echo "ok gc/reports $name"
    else
        echo "not ok gc/reports $name: status $status, '$(tr '\n' ' ' <"$out/got")' $(head -n 1 "$out/err")"
    fi
}

stacks="^[a-z /.]*: the collector found: thread [0-9]+ has managed code on a stack at 0x[0-9a-f]+ besides another one: "
late="^[a-z /.]*: the collector found: managed code is called by a thread that cannot run it: the thread is ending"
for program in coroutine late; do
    managed tests/gc/reports/$program.c -o "$out/$program.bc" || exit 1
done
for opt in -O0 -O2; do
    ends "coroutine $opt" "1 " "$stacks" "$BUILD/tenon" run $opt "$out/coroutine.bc" -- low
    ends "coroutine above $opt" "" "$stacks" "$BUILD/tenon" run $opt "$out/coroutine.bc" -- high
    ends "late destructor $opt" "" "$late" "$BUILD/tenon" run $opt "$out/late.bc"
    ends "late destructor, a leaf $opt" "" "$late" "$BUILD/tenon" run $opt "$out/late.bc" -- leaf
done
managed --target=x86_64-linux-musl -nostdlibinc -isystem "$headers" tests/gc/reports/late.c -o "$out/musl.bc" &&
    "$BUILD/tenon" build --kind=exe -O2 -o "$out/late" "$out/musl.bc" || exit 1
ends "late destructor, executable" "" "$late" "$out/late"
ends "late destructor, a leaf, executable" "" "$late" "$out/late" leaf
