# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# On AArch64 and RISC-V, under qemu-user: every kind of program (runtime_hosts.sh), and how large the smallest one is
# that is linked with musl and loads an object. On AArch64, the linker leaves up to 64 KiB of the file unused so that
# data lies on pages of its own.
#
# time limit: 1800

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}"

# footprint MACHINE LIMIT: the program runs, and takes at most so many bytes
footprint() {
    local machine=$1 out=$BUILD/tests/hosts size said
    $MUSL_CC -O2 -static -s -Wl,--gc-sections -Iinclude tests/hosts/footprint.c "$BUILD/musl/libtenon.a" \
        -Wl,--as-needed -latomic -o "$out/footprint" &&
        echo 'extern int three; int nine(void) { return three * three; }' | $CC -O2 -fPIC -xc -c - -o "$out/nine.o" ||
        { echo "not ok hosts/footprint: it is not linked"; return; }
    size=$(stat -c %s "$out/footprint")
    if ! said=$($EMULATOR "$out/footprint" "$out/nine.o" 2>&1) || [ "$size" -gt "$2" ]; then
        echo "not ok hosts/footprint: $size bytes, limit $2: $said"
    else
        echo "ok hosts/footprint ($size bytes, limit $2)"
    fi
}

while read -r machine limit; do
    export BUILD=${BUILD%/*-linux-gnu}/$machine-linux-gnu CC=$machine-linux-gnu-gcc LLVM_BIN
    export EMULATOR="qemu-$machine-static -L /usr/$machine-linux-gnu"
    export MUSL_CC="$CC -specs build/deps/musl/$machine-linux-gnu/lib/musl-gcc.specs"
    mkdir -p "$BUILD/tests/hosts"
    { bash tests/hosts/runtime_hosts.sh; footprint $machine $limit; } | sed -E "s/^(not )?ok /&$machine /"
done <<'END'
aarch64 340000
riscv64 270000
END
