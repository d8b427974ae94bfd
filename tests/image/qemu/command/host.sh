# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# AArch64's own command, under qemu: it writes what the command writes here for AArch64, byte for byte, for several
# CPUs; programs run on each of these, and the version that fits is taken.
#
# time limit: 1800

. tests/build/check
: "${LLVM_BIN:=$(llvm-config-22 --bindir)}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
there=$BUILD/aarch64-linux-gnu
targets='generic;generic,+lse,clone_all;generic,+lse,+sve,clone_all'

emulate() { # CPU PROGRAM [ARGUMENT...]
    qemu-aarch64-static -cpu "$@"
}

cat >"$work/program.c" <<'END'
#include <stdio.h>
#include <threads.h>
static _Thread_local int counter = 5;
static _Thread_local char zeros[100];
double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}
static int other(void *unused)
{
    (void)unused;
    counter += 10;
    zeros[3]++;
    return counter + zeros[3];
}
int main(void)
{
    double a[100], b[100];
    int result;
    for (int i = 0; i < 100; i++)
        a[i] = i, b[i] = 2 * i;
    thrd_t thread;
    counter++;
    if (thrd_create(&thread, other, NULL) != thrd_success)
        return 1;
    thrd_join(thread, &result);
    printf("%d %d %.0f\n", counter, result, dot(a, b, 100));
}
END
"$LLVM_BIN/clang" --target=aarch64-linux-gnu -isystem build/deps/aarch64-linux-gnu/usr/include/aarch64-linux-musl \
    -fPIC -O2 -Xclang -disable-llvm-passes -emit-llvm -c "$work/program.c" -o "$work/program.bc"

for kind in archive image shared exe; do
    # What is made has the name of the output in it.
    mkdir "$work/here.$kind" "$work/there.$kind"
    succeeds "$kind: made here" "$BUILD/tenon" build --triple aarch64-linux-gnu --targets "$targets" --kind=$kind \
        --stubs "$there/obj/stub" -o "$work/here.$kind/out" "$work/program.bc"
    succeeds "$kind: made there" emulate max "$there/tenon" build --targets "$targets" --kind=$kind \
        -o "$work/there.$kind/out" "$work/program.bc"
    succeeds "$kind: the same bytes" cmp "$work/here.$kind/out" "$work/there.$kind/out"
done
if said=$("$BUILD/tenon" build --triple aarch64-linux-gnu --kind=exe -o "$work/none" "$work/program.bc" 2>&1); then
    echo "not ok exe: with a stub for another machine: it is made"
else
    none "exe: with a stub for another machine" \
        "$(grep -v 'the stub is for x86-64, the image for AArch64' <<<"$said")"
fi

while read -r cpu target; do
    said=$(emulate "$cpu" "$there/tenon" cpu "$work/here.shared/out" 2>&1)
    some "$cpu takes target $target" "$(grep "^target $target, .* taken" <<<"$said")"
    for page in 4096 65536; do
        said=$(emulate "$cpu" -p $page "$work/here.exe/out" 2>&1)
        none "$cpu, pages of $page: the program runs" "$(grep -vx '6 16 656700' <<<"${said:-nothing}")"
    done
done <<'END'
cortex-a53 0
neoverse-n1 1
max 2
END
