# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Saved objects as other tools see them: readelf, gdb in a process and in its core file, perf; and what processes of one
# executable share of them.

. tests/build/check
. tests/image/support/saved_code.bash

values+=(--value the_entry=root:entry)
headers=$(musl-gcc -### -xc /dev/null 2>&1 | grep -o '[^ ]*/include/[^ ]*musl[^ ]*' | head -n 1)
for part in values objects objects_program; do
    managed --target=x86_64-linux-musl -nostdlibinc -isystem "$headers" $source/$part.c -o "$work/$part.bc" || exit 1
done
for part in values objects; do
    managed -fPIC $source/$part.c -o "$work/$part-pic.bc" || exit 1
done
"$CC" -rdynamic $source/values_host.c -Iinclude -Isrc "$BUILD/tests/gc/copying.o" \
    "$BUILD/libtenon.a" -lpthread -o "$work/host" &&
    LISTS=500 "$work/host" save "$work/heap" own || exit 1
build() { "$tenon" build --objects "$work/heap" "${values[@]}" -O2 "$@"; }
build --kind=exe -o "$work/exe" "$work/values.bc" "$work/objects.bc" "$work/objects_program.bc" &&
    build --kind=image -o "$work/image" "$work/values-pic.bc" "$work/objects-pic.bc" || exit 1

# zone NAME: its intended address, and its size.
zone() {
    readelf --sections --wide "$work/heap" |
        sed -n "s/.* \.tenon\.$1  *PROGBITS *\([0-9a-f]*\) [0-9a-f]* \([0-9a-f]*\) .*/0x\1 0x\2/p"
}
read -r frozen frozen_size <<<"$(zone frozen)"
read -r mutable mutable_size <<<"$(zone mutable)"
some "zones have a million bytes" "$([ $((mutable_size)) -gt 1000000 ] && echo yes)"

# ---- readelf ----

for file in heap exe image; do
    none "readelf has no complaint: $file" "$(readelf --all --wide "$work/$file" 2>&1 >/dev/null)"
    for flags in 'frozen .* A ' 'mutable .* WA '; do
        some "$file has a section: $flags" "$(readelf --sections --wide "$work/$file" | grep "\.tenon\.$flags")"
    done
done
some "the objects are a segment at their place" \
    "$(readelf --segments --wide "$work/heap" | grep "LOAD.* 0x0*${mutable#0x0*}")"

# ---- gdb ----

cat >"$work/script" <<END
set debuginfod enabled off
set width 0
set confirm off
set environment TENON_GC_LIMIT 1000000
rbreak ^sum
run
find $frozen, +$frozen_size, "struct node"
x/8gx $mutable
info proc mappings
generate-core-file $work/core
kill
END
if ! command -v gdb >/dev/null; then
    echo "ok gdb # SKIP gdb is not installed"
else
    gdb -q --batch -x "$work/script" "$work/exe" >"$work/said" 2>&1 </dev/null
    some "gdb stops in the image" "$(grep "^Breakpoint [0-9]*, .*sum" "$work/said")"
    some "gdb finds what is frozen" "$(grep '^[1-9][0-9]* pattern' "$work/said")"
    grep "^0x.*:.0x" "$work/said" >"$work/live"
    some "gdb reads objects" "$(grep -v '0x0000000000000000.0x0000000000000000' "$work/live")"
    some "gdb names the file" "$(grep "$(printf 0x%x "$frozen") .*$work/exe" "$work/said")"
    gdb -q --batch -ex 'set width 0' -ex "find $frozen, +$frozen_size, \"struct node\"" -ex "x/8gx $mutable" \
        -ex backtrace "$work/exe" "$work/core" >"$work/said" 2>&1 </dev/null
    some "a core file has what is frozen" "$(grep '^[1-9][0-9]* pattern' "$work/said")"
    grep "^0x.*:.0x" "$work/said" | cmp -s - "$work/live" && same=yes || same=
    some "a core file has the objects" "$same"
    some "a core file has the program's frames" "$(grep '^#0 .*sum' "$work/said")"
fi

# ---- perf ----

if ! perf record -q -e cpu-clock:u -d -o "$work/data" "$work/host" run own "$work/image" >"$work/said" 2>&1; then
    echo "ok perf # SKIP it does not run here: $(head -n 1 "$work/said")"
else
    perf script -i "$work/data" --show-mmap-events 2>"$work/err" >"$work/said"
    some "perf knows what is mapped at the place of the objects" \
        "$(grep "MMAP.*\[0x$(printf %x "$frozen")(.*$work/image" "$work/said")"
fi

# ---- processes ----

# private PID: bytes of the mutable and frozen zones that the process has for itself.
private() {
    awk -v first=$((frozen)) -v end=$((mutable + mutable_size)) '
        function number(text,    i, n) {
            for (i = 1; i <= length(text); i++) n = 16 * n + index("0123456789abcdef", substr(text, i, 1)) - 1
            return n
        }
        /^[0-9a-f]+-[0-9a-f]+ / { split($1, range, "-"); inside = number(range[1]) >= first && number(range[2]) <= end }
        inside && /^Private_Dirty:/ { sum += $2 }
        inside && /^Rss:/ { all += $2 }
        END { print sum + 0, all + 0 }' "/proc/$1/smaps"
}

mkfifo "$work/line"
for i in {1..20}; do
    "$work/exe" wait <"$work/line" >"$work/read.$i" &
    pids+=($!)
done
exec 9>"$work/line"
for i in {1..20}; do
    for try in {1..600}; do grep -qs 'reads the saved list' "$work/read.$i" && break; sleep 0.05; done
done
for pid in "${pids[@]}"; do private "$pid"; done >"$work/private"
exec 9>&-
wait
some "20 processes have read all of them" "$(awk '$2 > 1000' "$work/private" | wc -l | grep -x 20)"
none "and have at most 0.3 MB each for themselves" "$(awk '$1 > 300' "$work/private")"
