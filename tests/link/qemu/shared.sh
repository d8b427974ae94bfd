# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Shared libraries that our linker makes for other machines are loaded by their own dynamic linkers.

. "$(dirname "$0")/qemu.bash"
echo 'define i32 @other() { ret i32 7 }' >"$out/other.ll"
for machine in $MACHINES; do
    relax=; [ "$machine" != riscv64 ] || relax="-mrelax -mno-relax"
    main=$out/$machine.main
    $(compiler "$machine" gcc) -w tests/link/qemu/shared_main.c -o "$main" -ldl -pthread
    for compiler in gcc clang; do
        for flags in -O0 -O2 -Os $relax; do
            stem=$out/$machine.$compiler$flags
            name="shared library, $machine, $compiler $flags"
            command="$(compiler "$machine" $compiler) -w -fPIC -g $flags tests/link/qemu/shared.c"
            $command -shared -o "$stem.ordinary.so" 2>"$stem.log" ||
                $(compiler "$machine" gcc) -fPIC -shared tests/link/qemu/shared.c -o "$stem.ordinary.so" 2>"$stem.log"
            if ! $command -c -o "$stem.o" 2>"$stem.log" ||
                ! "$BUILD/tenon" build --kind=shared --triple "$machine-linux-gnu" "$out/other.ll" "$stem.o" \
                    -o "$stem.so" 2>"$stem.log"; then
                echo "not ok $name: $(head -1 "$stem.log")"
                continue
            fi
            record "$stem.ordinary" emulate "$machine" "$main" "$stem.ordinary.so"
            record "$stem.linked" emulate "$machine" "$main" "$stem.so"
            same "$name" "$stem.ordinary" "$stem.linked"
        done
    done
done
