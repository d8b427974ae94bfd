# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Images that have both code and saved objects (tenon build --objects), of all four kinds: files, shared libraries,
# archives in programs of all kinds, executables.
#
# time limit: 600

. tests/build/check
. tests/image/alone
. tests/image/support/saved_code.bash

values+=(--value the_entry=root:entry)

build() { "$tenon" build --targets 'x86-64;x86-64-v3' --objects "$work/heap" "${values[@]}" "$@"; }
host=("$source/values_host.c" -Iinclude -Isrc "$BUILD/tests/gc/copying.o")

for part in values objects; do
    managed $source/$part.c -o "$work/$part.bc" && managed -fPIC $source/$part.c -o "$work/$part-pic.bc" || exit 1
done
"$LLVM_BIN/clang" -O1 -fPIC -emit-llvm -c $source/objects_plain.c -o "$work/plain.bc" &&
    "$CC" -rdynamic "${host[@]}" "$BUILD/libtenon.a" -lpthread -o "$work/host" &&
    "$work/host" save "$work/heap" own || exit 1
code=("$work/values.bc" "$work/objects.bc")
{ echo "it is where it should be"; cat "$work/used"; echo "and its own functions"; } >"$work/wanted"
sed 1s/.*/it\ is\ elsewhere/ "$work/wanted" >"$work/elsewhere"
{ echo "the place is taken"; cat "$work/elsewhere"; } >"$work/taken"

# prints NAME EXPECTED COMMAND...
prints() {
    local name=$1 expected=$2
    shift 2
    timeout 200 "$@" >"$work/got" 2>"$work/err"
    local status=$?
    if [ "$status" = 0 ] && cmp -s "$expected" "$work/got"; then
        echo "ok $name"
    else
        echo "not ok $name: status $status $(head -n 1 "$work/err") $(grep -m 1 '^not ' "$work/got")"
    fi
}

# good NAME COMMAND...: what it checks is as it should be.
good() {
    local name=$1
    shift
    timeout 200 "$@" >"$work/got" 2>"$work/err"
    local status=$?
    none "$name" "$(grep '^not ' "$work/got")$([ "$status" = 0 ] && [ -s "$work/got" ] || head -n 3 "$work/err" \
        | sed "s/^/status $status /")"
}

# runs NAME PROGRAM [CODE]: with each collector, under stress, and with the objects at another place.
runs() {
    local name=$1 program=$2 path=${3:--} collector
    for collector in generational copy concurrent; do
        prints "$name, $collector" "$work/wanted" env TENON_GC=$collector "$program" run own "$path"
        prints "$name, $collector, displaced, under stress" "$work/elsewhere" \
            env TENON_GC=$collector RELOCATE=1 $stress "$program" run own "$path"
    done
    prints "$name, if the place is taken" "$work/taken" env TAKEN=1 "$program" run own "$path"
    prints "$name, in a child" "$work/wanted" "$program" child own "$path"
    good "$name, opened again" "$program" again own "$path"
    good "$name, while the system refuses things" "$program" refuse own "$path"
    prints "$name, with little address space" "$work/wanted" bash -c 'ulimit -v 8000000; exec "$@"' - \
        env TENON_GC=copy TENON_GC_LIMIT=10000000 "$program" run own "$path"
    MEMORY=1 "$program" run own "$path" >"$work/got" 2>&1
    some "$name, only what is bound was written" "$(grep -x '1 pages of objects were written' "$work/got")"
    limited "$name" "$work/wanted" "$work/elsewhere" "$program" run own "$path"
    chmod a-w "$program" "$work"/image "$work"/shared 2>/dev/null
    prints "$name, in files that cannot be written" "$work/wanted" "$program" run own "$path"
    chmod u+w "$program" "$work"/image "$work"/shared 2>/dev/null
}

"$CC" -Wall -Wextra -Werror -O1 $source/limited.c -o "$work/limited" || exit 1

# limited NAME EXPECTED ELSEWHERE PROGRAM [ARGUMENT...]: where the system refuses something. What it prints is in one of
# the two files: objects are elsewhere where places cannot be asked for.
limited() {
    local name=$1 expected=$2 elsewhere=$3 limit wanted
    shift 3
    for limit in mdwe 64MB 512MB-of-addresses mremap no-mremap memfd noreplace no-noreplace; do
        wanted=$expected displaced=
        [[ $limit = *noreplace ]] && wanted=$elsewhere displaced=DISPLACED=1
        "$work/limited" $limit /bin/true
        if [ $? = 77 ]; then
            echo "ok $name, $limit # SKIP the system has no such limit"
        else
            prints "$name, $limit" "$wanted" env $displaced TENON_GC_LIMIT=8000000 "$work/limited" $limit "$@"
        fi
    done
}

# ---- files ----

for form in -O0 '-O2 --shards 2'; do
    succeeds "a file, $form" build --kind=image $form -o "$work/image" "$work/values-pic.bc" "$work/objects-pic.bc"
    prints "it runs, $form" "$work/wanted" "$work/host" run own "$work/image"
done
runs "a file" "$work/host" "$work/image"
chmod o+w "$work/image"
prints "a file that others may write" "$work/wanted" "$work/host" run own "$work/image"
chmod o-w "$work/image"
succeeds "a shared library" build --kind=shared -O2 -o "$work/shared" "$work/values-pic.bc" "$work/objects-pic.bc"
runs "a shared library" "$work/host" "$work/shared"
none "readelf has no complaint" "$(readelf --all --wide "$work/shared" 2>&1 >/dev/null)"
for zone in 'frozen .* A ' 'bound .* WA ' 'mutable .* WA '; do
    some "it has a section: $zone" "$(readelf --sections --wide "$work/shared" | grep "\.tenon\.$zone")"
done
none "zones need no relocation" "$(readelf --relocs --wide "$work/shared" | grep "tenon\.")"
succeeds "its sum is right" "$tenon" inspect --verify "$work/shared"

# ---- loaded by the system ----

succeeds "without managed code" build --kind=shared -O2 -o "$work/plain.so" "$work/plain.bc"
build -O2 -o "$work/plain.a" "$work/plain.bc"
succeeds "by the system's linker" "$CC" -shared -Wl,--whole-archive "$work/plain.a" -Wl,--no-whole-archive \
    -o "$work/linked.so"
for library in plain linked; do
    good "dlopen, $library.so, opened again" env DL=1 "$work/host" again own "$work/$library.so"
    good "dlopen, $library.so, while the system refuses things" env DL=1 "$work/host" refuse own "$work/$library.so"
    good "tn_image_open, $library.so" "$work/host" again own "$work/$library.so"
done

# ---- linked in ----

succeeds "an archive" build -O2 -o "$work/image.a" "${code[@]}"
succeeds "of four members" test "$(ar t "$work/image.a" | tr '\n' ' ')" = "text#0.o metadata.o heap.o "
ar p "$work/image.a" heap.o >"$work/heap.o"
none "its objects have no relocations" "$(readelf --relocs "$work/heap.o" | grep '^Relocation section')"
for how in '' -static -static-pie '-static -Wl,--gc-sections'; do
    succeeds "linked ${how:-dynamically}" "$CC" $how -DLINKED "${host[@]}" "$work/image.a" "$BUILD/libtenon.a" \
        -lpthread -o "$work/linked"
    runs "linked ${how:-dynamically}" "$work/linked"
    [ -z "$how" ] || alone "linked $how, where nothing else is" "$work/wanted" "$work/linked" run own -
done
for linker in lld gold; do
    if "$CC" -fuse-ld=$linker -B"$LLVM_BIN" -DLINKED "${host[@]}" "$work/image.a" "$BUILD/libtenon.a" -lpthread \
        -o "$work/linked" 2>"$work/err"; then
        prints "linked by $linker" "$work/wanted" "$work/linked" run own -
    else
        echo "ok linked by $linker # SKIP $(head -n 1 "$work/err")"
    fi
done
if command -v musl-gcc >/dev/null; then
    musl-gcc -static -DLINKED "${host[@]}" "$work/image.a" "$BUILD/musl/libtenon.a" -o "$work/linked" || exit 1
    runs "linked with musl" "$work/linked"
    alone "linked with musl, where nothing else is" "$work/wanted" "$work/linked" run own -
    if command -v qemu-x86_64 >/dev/null; then
        prints "on an emulated CPU" "$work/wanted" qemu-x86_64 -cpu qemu64 "$work/linked" run own -
    fi
    strip "$work/linked"
    prints "after strip" "$work/wanted" "$work/linked" run own -
fi

# ---- executables ----

headers=$(musl-gcc -### -xc /dev/null 2>&1 | grep -o '[^ ]*/include/[^ ]*musl[^ ]*' | head -n 1)
for part in values objects objects_program; do
    managed --target=x86_64-linux-musl -nostdlibinc -isystem "$headers" $source/$part.c -o "$work/$part-exe.bc"
done
program=("$work/values-exe.bc" "$work/objects-exe.bc" "$work/objects_program-exe.bc")
grep -v 'allocates is\|its type\|weak' "$work/wanted" >"$work/wanted-exe"
for form in -O0 -O2; do
    succeeds "an executable, $form" build --kind=exe $form -o "$work/exe" "${program[@]}"
    prints "it runs, $form" "$work/wanted-exe" env $stress "$work/exe"
done
alone "it runs where nothing else is" "$work/wanted-exe" "$work/exe"
prints "in a child" "$work/wanted-exe" "$work/exe" child
sed '1s/.*/it is elsewhere/' "$work/wanted-exe" >"$work/elsewhere-exe"
limited "an executable" "$work/wanted-exe" "$work/elsewhere-exe" "$work/exe"
chmod a-w "$work/exe"
prints "in a file that cannot be written" "$work/wanted-exe" "$work/exe"
chmod u+w "$work/exe"
for way in strip eu-strip; do
    cp "$work/exe" "$work/stripped"
    $way "$work/stripped"
    prints "after $way" "$work/wanted-exe" "$work/stripped"
done
some "tenon inspect knows its objects" "$("$tenon" inspect "$work/exe" | grep '^saved objects')"
"$tenon" build --depends "$work/heap" "${values[@]}" --kind=exe -o "$work/refused" "${program[@]}" 2>"$work/log"
some "a program has its objects itself" "$("$work/refused" 2>&1 | grep "depends on the image 'list'")"

# ---- builds ----

build -O2 -o "$work/again.a" --threads 3 "${code[@]}"
succeeds "the same every time" cmp "$work/again.a" "$work/image.a"
succeeds "a build file" build -O2 --shards 2 --ninja "$work/build.ninja" -o "$work/ninja.a" "${code[@]}"
succeeds "ninja" ninja -C "$work" -f build.ninja
build -O2 --shards 2 -o "$work/image.a" "${code[@]}"
succeeds "makes the same" cmp "$work/ninja.a" "$work/image.a"

# refused NAME TEXT COMMAND...
refused() {
    local name=$1 text=$2
    shift 2
    "$@" >"$work/got" 2>&1
    some "$name" "$(grep -- "$text" "$work/got")"
}
refused "code is no image without code" 'not an image of saved objects alone' \
    build --objects "$work/image" -o "$work/refused" "${code[@]}"
refused "nor is anything else" 'no file with an image' build --objects "$work/values.bc" -o "$work/refused" "${code[@]}"
{ head -c 5000 "$work/heap"; printf x; tail -c +5002 "$work/heap"; } >"$work/damaged"
refused "damage is found" 'checksum of the whole' build --objects "$work/damaged" -o "$work/refused" "${code[@]}"
