# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Instructions that it takes to link an object of the machine itself, beside x86-64, counted under qemu-user by a plugin
# (count.c): for each relocation of SQLite, and for each of 10,000 global symbols. The limit is 1.3 times x86-64's, and
# for the relocations of RISC-V what doc/FIGURES.md says of them.
#
# time limit: 1800

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}" "${CC:=gcc}"
here=tests/hosts/qemu
out=$BUILD/$here objects=$BUILD/bench/formats
mkdir -p "$out"

made=()
for machine in x86-64 aarch64 riscv64; do
    for part in "" .one_symbol .symbols; do made+=("$objects/elf-$machine$part.o"); done
done
make -s -f bench/rules.mk BUILD="$BUILD" LLVM_BIN="$LLVM_BIN" "${made[@]}" >/dev/null &&
    gcc -O2 -Wall -Wextra -fPIC -shared $here/count.c -o "$out/count.so" || exit 1

# count MACHINE PART: sets instructions, relocations, symbols
count() {
    local program=$out/link-$1 from to said
    from=$(nm "$program" | sed -n 's/ T tn_add_object$//p') to=$(nm "$program" | sed -n 's/ T tn_session_stats$//p')
    said=$("qemu-$1" -d plugin -plugin "$out/count.so,from=$from,to=$to" "$program" \
        "$objects/elf-${1/_/-}$2.o" 2>&1 | tr '\n' ' ')
    read -r instructions relocations symbols <<<"$(sed -n 's/^\([0-9]*\) \([0-9]*\) counted: \([0-9]*\) $/\3 \1 \2/p' \
        <<<"$said")"
    [ "${instructions:-0}" -gt 0 ] || { echo "not ok hosts/instructions $1: $said"; exit 1; }
}

# measure MACHINE COMPILER LIBRARY: sets of_relocation and of_symbol
measure() {
    "$2" -std=c11 -O2 -static -Iinclude $here/link.c "$3" -Wl,--as-needed -latomic -pthread -o "$out/link-$1" || exit 1
    local least few
    count "$1" ""
    of_relocation=$(awk -v n="$instructions" -v of="$relocations" 'BEGIN { printf "%.1f", n / of }')
    count "$1" .one_symbol
    least=$instructions few=$symbols
    count "$1" .symbols
    of_symbol=$(awk -v n=$((instructions - least)) -v of=$((symbols - few)) 'BEGIN { printf "%.1f", n / of }')
}

# at_most NAME FOUND BASE LIMIT
at_most() {
    awk -v name="hosts/instructions $1" -v n="$2" -v base="$3" -v limit="$4" 'BEGIN {
        said = sprintf("%s, %.2f times %s of x86-64, limit %s", n, n / base, base, limit)
        if (n / base <= limit) print "ok " name " (" said ")"; else print "not ok " name ": " said
    }'
}

measure x86_64 "$CC" "$BUILD/libtenon.a"
base_relocation=$of_relocation base_symbol=$of_symbol
while read -r machine relocation_limit symbol_limit; do
    measure $machine $machine-linux-gnu-gcc "$BUILD/$machine-linux-gnu/libtenon.a"
    at_most "$machine, each relocation" "$of_relocation" "$base_relocation" $relocation_limit
    at_most "$machine, each symbol" "$of_symbol" "$base_symbol" $symbol_limit
done <<'END'
aarch64 1.3 1.3
riscv64 1.6 1.3
END
