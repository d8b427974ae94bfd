# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Handlers (except_enter) in managed code, at each level, plain and under stress: native code throws out of transitions.

. tests/gc/support/machine.bash
out=$BUILD/tests/gc/handlers$there
mkdir -p "$out"
grep -v "^target " tests/gc/handlers/try.ll >"$out/try.ll" # the layout is the machine's
echo "1031974991 0" >"$out/want"
for level in 0 1 2 3; do
    $compile -O$level "$out/try.ll" -o "$out/try.o" &&
        "$CC" -O1 -Wall -Wextra -Iinclude tests/gc/handlers/host.c "$out/try.o" "$copying" "$library" $static \
            -lpthread -o "$out/host" ||
        { echo "not ok gc/handlers: it does not link"; exit 1; }
    for setting in TENON_GC_VERIFY=1 "TENON_GC_STRESS=1 TENON_GC_VERIFY=1" "TENON_GC=copy TENON_GC_STRESS=1"; do
        # shellcheck disable=SC2086
        if env $setting timeout "$limit" $emulate "$out/host" >"$out/got" 2>"$out/err" &&
            cmp -s "$out/want" "$out/got"; then
            echo "ok gc/handlers -O$level $setting"
        else
            echo "not ok gc/handlers -O$level $setting: $(head -1 "$out/err") $(diff "$out/want" "$out/got" | head -1)"
        fi
    done
done
if [ -z "$there" ]; then # function by function: a module is prepared once, for all of its parts
    "$CC" -O1 -Iinclude -c tests/gc/handlers/host.c -o "$out/host.o" || exit 1
    if timeout "$limit" $run --lazy -O1 "$out/try.ll" "$out/host.o" >"$out/got" 2>"$out/err" &&
        cmp -s "$out/want" "$out/got"; then
        echo "ok gc/handlers, lazily"
    else
        echo "not ok gc/handlers, lazily: $(head -1 "$out/err")"
    fi
fi
