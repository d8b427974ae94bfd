# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tenon build: no image has a path of the machine that built it in what is loaded, unless it may (--allow-path).

. tests/build/check

work=$(realpath "$(mktemp -d)")
trap 'rm -rf "$work"' EXIT
tenon=$PWD/$BUILD/tenon
mkdir -p "$work"/{here/below,home,out,out2} && ln -s here "$work/link" && cd "$work/here" || exit 1
export HOME=$work/home

# program NAME PATH OPTION...: one that contains the path.
program() {
    printf '%s\n' "const char *volatile where = \"$2\";" 'int main(void) { return !where; }' >"$work/$1.c"
    "$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -fPIC -emit-llvm "${@:3}" -c "$work/$1.c" -o "$work/$1.bc" ||
        exit 1
}
build() { "$tenon" build "$@" 2>&1; }
# refuses NAME PATH OPTION...: what is built is refused, with the path, and is not written.
refuses() {
    local name=$1 path=$2 said
    rm -f "$work/out/made"
    said=$(build -o "$work/out/made" "${@:3}")
    if [ $? != 1 ]; then echo "not ok $name: it is built"
    elif [ -e "$work/out/made" ]; then echo "not ok $name: it is written"
    else
        some "$name" "$(grep -F "contains '$path', a path of this machine: compile with -ffile-prefix-map=FOLDER=" \
            <<<"$said")"
    fi
}
accepts() { succeeds "$1" build -o "$work/out/made" "${@:2}"; }

kinds='archive shared image exe'
program path "$work/here/below/x.c"
program none 'below/x.c'
program debug 'below/x.c' -g
printf 'int other(void) { return 3; }\n' >"$work/other.c"
"$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -fPIC -emit-llvm -c "$work/other.c" -o "$work/other.bc" || exit 1
some "debug information has the path" "$("$LLVM_BIN/llvm-dis" -o - "$work/debug.bc" | grep -F "$work")"
for kind in $kinds; do
    refuses "$kind: the folder that it is built in" "$work/here/below/x.c" --kind $kind "$work/path.bc"
    refuses "$kind, in shards" "$work/here/below/x.c" --kind $kind --shards 4 "$work/other.bc" "$work/path.bc"
    accepts "$kind: --allow-path" --kind $kind --allow-path "$work/path.bc"
    some "$kind: then it is there" "$(grep -acF "$work/here/below/x.c" "$work/out/made" | grep -v "^0")"
    accepts "$kind: no such path" --kind $kind "$work/none.bc"
    accepts "$kind: debug information" --kind $kind "$work/debug.bc"
    none "$kind: none is in the loaded part" \
        "$(objcopy --strip-debug "$work/out/made" "$work/stripped" && grep -aF "$work" "$work/stripped")"
done

# Which folders, and which paths are theirs.
refuse() { program "$1" "$2" && refuses "$1" "${3:-$2}" --kind image "$work/$1.bc"; }
accept() { program "$1" "$2" && accepts "$1" --kind image "$work/$1.bc"; }
refuse out "$work/out"
refuse out_slash "$work/out/"
refuse home "$work/home/.cache/x"
refuse within "-I$work/home -O2" "$work/home -O2"
accept other_folder "$work/out2/x"
accept another "$work/out.old"
accept above "$work"
accept relative 'here/below/x.c'
HOME=/opt accept single /opt/x.c
HOME=/opt/ accept single_slash /opt/x.c
HOME='' accept empty_home /x.c
HOME=/nowhere/at/all refuse not_there /nowhere/at/all/x.c
cd "$work/link" || exit 1
refuse link "$work/link/x.c"
refuse behind_link "$work/here/x.c"
program to_link "$work/here/x.c"
cd "$work/out2" || exit 1
some "OUT in a folder behind a link" \
    "$(build --kind=image -o "$work/link/made" "$work/to_link.bc" | grep -F "contains '$work/here/x.c'")"
some "OUT in a folder by a relative path" \
    "$(build --kind=image -o ../here/made "$work/to_link.bc" | grep -F "contains '$work/here/x.c'")"

# The steps of a build file.
if command -v ninja >/dev/null; then
    cd "$work/here" || exit 1
    build --kind=image --shards 2 --ninja "$work/refused.ninja" -o "$work/out/made" "$work/other.bc" "$work/path.bc"
    some "a build file" "$(ninja -f "$work/refused.ninja" 2>&1 | grep 'a path of this machine')"
    build --kind=image --shards 2 --allow-path --ninja "$work/ok.ninja" -o "$work/out/made" "$work/other.bc" \
        "$work/path.bc"
    succeeds "a build file: --allow-path" ninja -f "$work/ok.ninja"
else
    echo "ok a build file # SKIP no ninja"
fi
