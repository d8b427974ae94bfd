# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ccache is used where it is installed and works, and is not needed: objects are the same with it and without.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CCACHE_DIR=$work/cache
object=obj/src/base/error.c.o

# compile FOLDER [WORD...]: by a make with these words
compile() {
    local folder=$work/$1
    shift
    env "$@" make --no-print-directory -f tools/build/rules.mk V=1 LLVM=0 HOST= SANITIZE= BUILD="$folder" \
        "CC=${CC:-gcc}" "$folder/$object" >"$folder.said" 2>&1
}

# A ccache that cannot be used, and none at all: a PATH of everything else.
mkdir "$work/broken" && printf '#!/bin/sh\nexit 1\n' >"$work/broken/ccache" && chmod +x "$work/broken/ccache"
succeeds "it compiles without ccache" compile without CCACHE=0
none "which is not asked then" "$(grep ccache "$work/without.said")"
succeeds "it compiles where ccache does not work" compile beside "PATH=$work/broken:$PATH"
none "which is not used then" "$(grep 'ccache ' "$work/beside.said")"
succeeds "objects are the same" cmp "$work/without/$object" "$work/beside/$object"

if ! command -v ccache >/dev/null; then
    echo "ok it compiles with ccache # SKIP it is not installed"
    exit
fi
succeeds "it compiles with ccache" compile first
some "which is used" "$(grep '^ccache ' "$work/first.said")"
succeeds "it compiles again" compile second
some "from what ccache kept" "$(ccache --print-stats | awk '/^(direct|preprocessed)_cache_hit/ && $2 > 0')"
succeeds "objects are the same with ccache" cmp "$work/without/$object" "$work/second/$object"
