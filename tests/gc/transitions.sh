# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Calls of native code from managed code (tests/gc/transitions), while another thread collects without a pause: at each
# optimisation level, plain, verified and under stress, and where the system refuses membarrier, from the beginning or
# later.
#
# time limit: 600

. tests/gc/support/machine.bash
source=tests/gc/transitions
out=$BUILD/tests/gc/transitions$there
calls=5000
[ -z "$MACHINE" ] || calls=500
mkdir -p "$out"
grep -v "^target " $source/catch.ll >"$out/catch.ll" # the layout is the machine's
$clang -fexceptions -Itests/gc/support -c $source/managed.c -o "$out/managed.bc" || exit 1

# run NAME COMMAND...
run() {
    local name="gc/transitions $1"
    shift
    timeout "$limit" "$@" >"$out/got" 2>"$out/err"
    case $? in
    0) echo "ok $name" ;;
    77) echo "ok $name # SKIP $(head -1 "$out/got")" ;;
    124) echo "not ok $name: it hangs" ;;
    *) echo "not ok $name: $(head -1 "$out/got") $(head -1 "$out/err")" ;;
    esac
}

for level in 0 1 2 3; do
    $compile -O$level "$out/managed.bc" -o "$out/managed.o" &&
        $compile -O$level "$out/catch.ll" -o "$out/catch.o" &&
        "$CXX" -O1 -Wall -Wextra -Iinclude $source/host.cpp "$out/managed.o" "$out/catch.o" "$copying" "$library" \
            $static -lpthread -o "$out/host" || exit 1
    run "-O$level" $emulate "$out/host" $calls
    run "-O$level, verified" env TENON_GC_VERIFY=1 $emulate "$out/host" $((calls / 10))
    run "-O$level, stress" env TENON_GC_STRESS=1 $emulate "$out/host" 20
done
for how in refuse later; do
    run "membarrier, $how" $emulate "$out/host" $calls $how
    run "membarrier, $how, stress" env TENON_GC_STRESS=1 $emulate "$out/host" 20 $how
done
