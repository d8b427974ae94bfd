# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Images for other architectures: built here, linked by their linkers, run on CPUs that are not there.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=tests/image/source

declare -A targets=([aarch64]='generic;neoverse-n1;generic,+sve,clone_all' \
    [riscv64]='generic;generic,+v;generic,+zba,+zbb,clone_all')

while read -r arch shards cpu expected; do
    name="$arch, $shards shards"
    program=$work/$arch-$shards
    if [ ! -e "$program" ]; then
        "$LLVM_BIN/clang" --target=$arch-linux-gnu -nostdlibinc -isystem \
            "$("$LLVM_BIN/clang" -print-resource-dir)/include" -fPIC -O1 \
            -Xclang -disable-llvm-passes -emit-llvm -c $source/work.c -o "$work/$arch.bc"
        succeeds "$name: it is built" "$BUILD/tenon" build --targets "${targets[$arch]}" --shards "$shards" \
            -o "$program.a" "$work/$arch.bc"
        succeeds "$name: it is linked in" "$arch-linux-gnu-gcc" -std=c11 -DLINKED -Iinclude -static $source/program.c \
            "$program.a" \
            "$BUILD/$arch-linux-gnu/libtenon.a" -o "$program"
    fi
    said=$("qemu-$arch-static" -cpu "$cpu" "$program" 2>"$work/warnings")
    if [ "$said" = "$expected: 91 91 8 42 1 108 6" ]; then
        echo "ok $name: on $cpu"
    else
        echo "not ok $name: on $cpu: $said"
    fi
done <<'END'
aarch64 1 cortex-a53 generic
aarch64 1 neoverse-n1 neoverse-n1
aarch64 1 max generic
aarch64 4 cortex-a53 generic
aarch64 4 neoverse-n1 neoverse-n1
riscv64 1 rv64,zba=false generic
riscv64 1 rv64,v=true generic
riscv64 1 rv64 generic
riscv64 4 rv64 generic
END

# ---- managed code: every way from function to function, for each CPU and collector, while everything moves ----

targets=([aarch64]='generic;generic,+lse;generic,+sve' [riscv64]='generic;generic,+zba;generic,+zba,+zbb')
while read -r arch cpus; do
    program=$work/$arch.managed
    compile="$arch-linux-gnu-gcc -w -O1 -static -Iinclude"
    "$LLVM_BIN/clang" --target=$arch-linux-gnu -isystem /usr/$arch-linux-gnu/include -w -O1 -Xclang \
        -disable-llvm-passes -Iinclude -emit-llvm -c $source/collected.c -o "$program.bc" &&
        $compile -DTN_UNMANAGED -DPLAIN $source/collected.c $source/collected_host.c -o "$program.plain" -lpthread &&
        "qemu-$arch-static" "$program.plain" >"$program.wanted" || exit 1
    succeeds "$arch, managed: it is built" "$BUILD/tenon" build -O2 --targets "${targets[$arch]}" \
        -o "$program.a" "$program.bc"
    succeeds "$arch, managed: it is linked in" $compile $source/collected_open.c $source/collected_host.c \
        "$program.a" "$BUILD/$arch-linux-gnu/tests/gc/copying.o" "$BUILD/$arch-linux-gnu/libtenon.a" \
        -Wl,-u,tn_collector_concurrent -lpthread -Wl,--as-needed -latomic -o "$program"
    for cpu in $cpus; do
        for collector in copy generational concurrent; do
            TENON_GC=$collector TENON_GC_STRESS=1 TENON_GC_VERIFY=1 "qemu-$arch-static" -cpu "$cpu" "$program" \
                >"$program.got" 2>"$program.err"
            succeeds "$arch, managed: $cpu, $collector" cmp "$program.wanted" "$program.got"
        done
    done
done <<'END'
aarch64 cortex-a53 neoverse-n1 max
riscv64 rv64,zba=false rv64
END

# ---- what is added to a library: functions that register under its handle, and its end ----

for arch in aarch64 riscv64; do
    "$LLVM_BIN/clang" --target=$arch-linux-gnu -isystem /usr/$arch-linux-gnu/include -fPIC -O1 -emit-llvm \
        -c $source/callbacks.c -o "$work/callbacks.bc" || exit 1
    succeeds "$arch, callbacks: the file is built" "$BUILD/tenon" build --triple $arch-linux-gnu --kind=shared \
        -o "$work/callbacks.so" "$work/callbacks.bc"
    succeeds "$arch, callbacks: the program is built" $arch-linux-gnu-gcc -O1 $source/callbacks_dlopen.c \
        -o "$work/opens"
    answers "$arch, callbacks: closed" $'prepare\nfinalizer\nexit\nclosed' \
        timeout 60 "qemu-$arch-static" -L /usr/$arch-linux-gnu "$work/opens" "$work/callbacks.so"
done

# ---- functions that are replaced, with a slot and without ----

. tests/image/support/replaceable.bash
while read -r arch targets; do
    name="$arch, replaceable, $targets"
    program=$work/$arch.replaceable
    "$LLVM_BIN/clang" --target=$arch-linux-gnu -nostdlibinc -isystem \
        "$("$LLVM_BIN/clang" -print-resource-dir)/include" -fPIC -O1 -Xclang -disable-llvm-passes -emit-llvm \
        -c $source/replaceable.c -o "$program.bc" || exit 1
    succeeds "$name: it is built" "$BUILD/tenon" build --targets "$targets" -o "$program.a" \
        --replaceable=leaf,constant,summed,average,shifted,depth "$program.bc"
    succeeds "$name: it is linked in" "$arch-linux-gnu-gcc" -O1 -DLINKED -Iinclude -static $source/replaceable_host.c \
        "$program.a" "$BUILD/$arch-linux-gnu/libtenon.a" -pthread -o "$program"
    answers "$name: it runs" "$said" timeout 120 "qemu-$arch-static" "$program"
    succeeds "$name: a file" "$BUILD/tenon" build --kind=image --targets "$targets" -o "$program.image" \
        --replaceable=leaf,constant,summed,average,shifted,depth "$program.bc"
    succeeds "$name: its program" "$arch-linux-gnu-gcc" -O1 -Iinclude -static $source/replaceable_host.c \
        "$BUILD/$arch-linux-gnu/libtenon.a" -pthread -o "$program"
    answers "$name: it runs from a file" "$said" \
        timeout 120 "qemu-$arch-static" "$program" "$program.image"
done <<'END'
aarch64 generic
aarch64 generic;generic,+lse
riscv64 generic
riscv64 generic;generic,+zba
END
