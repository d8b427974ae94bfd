# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Files that our own linker writes: --kind=shared and --kind=image. They run as they are loaded by dlopen and by tn_image_open,
# also after `strip`, and other tools understand them.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
targets='x86-64;x86-64-v2;x86-64-v3;x86-64-v4,clone_all;haswell,base(3)'
source=tests/image/source
tenon=$BUILD/tenon
declare -A no_hash=([shared]= [image]='-e no.hash.section.present')

compile() { "$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -emit-llvm -c "$@"; }
link() { "$CC" -Wall -Wextra -Werror -Iinclude "$@"; }

# says NAME EXPECTED COMMAND...
says() {
    local name=$1 expected=$2 said
    shift 2
    said=$("$@" 2>&1)
    if [ "$said" = "$expected" ]; then echo "ok $name"; else echo "not ok $name: $said"; fi
}

compile $source/work.c -o "$work/work.bc" && link $source/program.c "$BUILD/libtenon.a" -static -o "$work/loading" || exit 1
for kind in shared image; do
    file=$work/work.$kind
    succeeds "$kind: it is written" "$tenon" build --kind=$kind --targets "$targets" -o "$file" "$work/work.bc"
    cp "$file" "$work/again"
    "$tenon" build --kind=$kind --threads 3 --targets "$targets" -o "$file" "$work/work.bc"
    succeeds "$kind: it is the same every time" cmp "$file" "$work/again"
    for way in 'strip' 'strip -g' 'objcopy' 'eu-strip -o'; do
        cp "$file" "$work/$kind.${way%% *}"
        case $way in
        objcopy) $way "$file" "$work/$kind.$way" ;;
        *-o) $way "$work/$kind.${way%% *}" "$file" ;;
        *) $way "$work/$kind.${way%% *}" ;;
        esac || echo "not ok $kind: $way"
        says "$kind: it is loaded after $way" "x86-64: 91 91 8 42 1 108 6" "$work/loading" x86-64 "$work/$kind.${way%% *}"
    done
    says "$kind: it is loaded" "x86-64: 91 91 8 42 1 108 6" "$work/loading" x86-64 "$file"
    none "$kind: its code needs no relocation" "$(readelf --wide --dynamic "$file" | grep TEXTREL)"
    none "$kind: readelf has no complaint" "$(readelf --all --wide "$file" 2>&1 >/dev/null)"
    # What elfutils 0.188 does not know: RELR, notes of others, segments without bytes in the file. Nobody looks anything up in
    # a file for tn_image_open, so it has no hash table.
    none "$kind: nor has elflint" "$(eu-elflint --gnu-ld "$file" 2>&1 | grep -v -e "'.relr.dyn' has wrong type" \
        -e "unknown object file note type 1 with owner name 'Tenon'" -e 'is writable but contains no writable sections' \
        ${no_hash[$kind]} -e '^No errors$')"
    some "$kind: tenon inspect knows it" "$("$tenon" inspect "$file" | grep 'functions: 10, slots: 10')"
done
some "a library's functions can be looked up" "$(readelf --wide --dyn-syms "$work/work.shared" | grep ' FUNC .* squares$')"
none "those of the leaner file only by tn_image_lookup" "$(readelf --wide --dyn-syms "$work/work.image" | grep squares)"
some "a debugger finds versions" "$(gdb --batch --ex 'info line squares.tn_image.1' "$work/work.shared" 2>&1 | grep 'squares.tn_image.1')"
