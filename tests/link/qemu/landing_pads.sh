# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Branch protection on AArch64. When the runtime is compiled with it, each of its parts that are assembly language says
# so in its note and begins with a landing pad, and so do its stubs (landing_pads.c). Without it, stubs have no landing
# pads: then the same program has to end at the first of them, or the check is none.

. "$(dirname "$0")/qemu.bash"
case " $MACHINES " in *" aarch64 "*) ;; *) echo "ok landing pads # SKIP for aarch64 only"; exit ;; esac
here=tests/link/qemu
library=$BUILD/aarch64-linux-gnu/libtenon.a
gcc="aarch64-linux-gnu-gcc -std=c11 -O2 -fPIC -D_GNU_SOURCE -Iinclude -Isrc"
protected="$gcc -mbranch-protection=standard"

cat >"$out/object.c" <<'END'
int twice(int n) { return 2 * n; }
int apply(int (*f)(int), int n) { return f(n) + 0; }
END
$protected -c "$out/object.c" -o "$out/object.o" || exit 1

# Every global function of a file in assembly language begins with bti c, or with paciasp, which is one as well.
parts=()
for source in $(find src -name host_aarch64.c | sort); do
    part=$out/$(tr / . <<<"${source%.c}").o
    $protected -fvisibility=hidden -c "$source" -o "$part" || { echo "not ok landing pads of $source"; continue; }
    parts+=("$part")
    bare=$(aarch64-linux-gnu-objdump -d --no-show-raw-insn "$part" |
        awk '/^[0-9a-f]+ <.*>:$/ { name = $2; next }
            name { if ($2 != "paciasp" && !($2 == "bti" && $3 ~ /^(c|jc)$/)) print name; name = "" }')
    if [ -n "$bare" ]; then
        echo "not ok landing pads of $source: none at" $bare
    elif ! aarch64-linux-gnu-readelf -nW "$part" | grep -q 'AArch64 feature: BTI'; then
        echo "not ok landing pads of $source: it has no note"
    else
        echo "ok landing pads of $source"
    fi
done

# program NAME FILE...: links landing_pads.c with these parts of the runtime in place of the library's, and runs it
program() {
    local program=$out/$1
    shift
    $gcc -static $here/landing_pads.c "$@" "$library" -pthread -o "$program" &&
        qemu-aarch64-static -cpu max "$program" "$out/object.o"
}

program protected "$out/src.link.redirect.host_aarch64.o" 2>&1
status=$?
[ $status = 0 ] || echo "not ok landing pads: status $status"

said=$(program bare 2>/dev/null)
status=$?
name="without landing pads the first call of a stub ends the program"
if [ $status = 132 ] && [ "$(tail -n 1 <<<"$said")" = "ok pages of stubs are guarded" ]; then
    echo "ok $name"
else
    echo "not ok $name: status $status, $(tail -n 1 <<<"$said")"
fi
