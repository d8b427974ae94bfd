#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# install.sh install|uninstall [musl]
# install.sh describe
#
# Puts what was built where it belongs, or takes exactly that away: both walk the same list. Archives lose their debug
# information, which names the folders they were made in; *.in files get the paths and versions of this installation.
# `describe` writes package descriptions of the build tree itself into $BUILD/pkgconfig.
#
# Environment: PREFIX DESTDIR BINDIR LIBDIR INCLUDEDIR MANDIR DOCDIR BASH_COMPLETION ZSH_COMPLETION FISH_COMPLETION;
# BUILD MIMALLOC_DIR STRIP; MACHINE_LIBS (what a program links besides libtenon.a); and, where the code generator was
# built, LLVM_LINK (what a program links besides it), LLVM_BIN, LLVM_INCLUDE, LLVM_VERSION, TARGETS.

set -eu

action=${1:?usage: install.sh install|uninstall|describe [musl]}
part=${2-}

: "${BUILD:=build}" "${PREFIX:=/usr/local}" "${DESTDIR:=}"
: "${BINDIR:=$PREFIX/bin}" "${LIBDIR:=$PREFIX/lib}" "${INCLUDEDIR:=$PREFIX/include}"
: "${MANDIR:=$PREFIX/share/man}" "${DOCDIR:=$PREFIX/share/doc/tenon}"
: "${BASH_COMPLETION:=$PREFIX/share/bash-completion/completions}"
: "${ZSH_COMPLETION:=$PREFIX/share/zsh/site-functions}" "${FISH_COMPLETION:=$PREFIX/share/fish/vendor_completions.d}"

case $PREFIX in
/*) ;;
*) echo "install.sh: PREFIX=$PREFIX is not an absolute path" >&2; exit 1 ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ---- the three kinds of files ----

# put MODE FILE FOLDER [NAME]
put() {
    to=$DESTDIR$3/${4:-${2##*/}}
    case $action in
    install) install -D -m "$1" "$2" "$to" && echo "  INSTALL $to" ;;
    uninstall) rm -f "$to" && echo "  REMOVE  $to" ;;
    *) echo "install.sh: unknown action '$action'" >&2; exit 1 ;;
    esac
}

put_archive() {
    [ $action = uninstall ] || "${STRIP:-strip}" --strip-debug --enable-deterministic-archives -o "$work/archive" "$1"
    put 644 "$work/archive" "$2" "${1##*/}"
}

# put_completion SHELL FOLDER NAME: by the command itself, which may be one for another machine.
put_completion() {
    [ $action = uninstall ] || "$BUILD/tenon" completion "$1" >"$work/completion" 2>/dev/null ||
        ${EMULATOR-false} "$BUILD/tenon" completion "$1" >"$work/completion" 2>/dev/null || return 0
    put 644 "$work/completion" "$2" "$3"
}

number() { sed -n "s/^#define TN_VERSION_$1 *//p" include/tenon/base.h; }
version_minor=$(number MAJOR).$(number MINOR)
version=$version_minor.$(number PATCH)

# The words of LLVM_LINK that begin with $1, as a list of CMake's.
llvm_words() { printf '%s\n' ${LLVM_LINK-} | sed -n "s/^$1//p" | paste -sd ';' -; }

# LLVM's own archives among these, as one word.
llvm_archives() { printf '%s\n' ${LLVM_LINK-} | sed -n 's/^-l\(LLVM.*\)/lib\1.a/p' | sort -u | paste -sd : -; }

# Descriptions can be moved as a whole: folders below the prefix are named relative to it.
from_prefix() {
    case $1 in
    "$PREFIX"/*) printf '${prefix}%s' "${1#"$PREFIX"}" ;;
    *) printf '%s' "$1" ;;
    esac
}

small="-fuse-ld=lld -B${LLVM_BIN-} -Wl,--gc-sections,--icf=all,-O2,-z,keep-text-section-prefix"
collected="-O1 -Xclang -disable-llvm-passes -emit-llvm"
targets=$(echo "${TARGETS-}" | tr A-Z a-z)

list() { echo "$*" | tr ' ' ';'; }

# filled FILE.in FOLDER [TARGET]: its text, as it will lie in FOLDER.
filled() {
    sed -e "s|@PREFIX@|$PREFIX|; s|@LIBDIR@|$(from_prefix "$libdir")|; s|@INCLUDEDIR@|$(from_prefix "$INCLUDEDIR")|" \
        -e "s|@INCLUDES_FROM_CMAKE@|$(realpath -m --relative-to="$2" "$INCLUDEDIR")|" \
        -e "s|@TARGET@|${3-}|g; s|@SMALL@|$small|; s|@COLLECTED@|$collected|; s|@LLVM_INCLUDE@|${LLVM_INCLUDE-}|" \
        -e "s|@STUBS@|$(from_prefix "$stubs")|" \
        -e "s|@TARGETS_LIST@|$targets|; s|@SMALL_LIST@|$(list $small)|; s|@COLLECTED_LIST@|$collected|" \
        -e "s|@VERSION@|$version|g; s|@VERSION_MINOR@|$version_minor|" \
        -e "s|@LLVM_VERSION@|${LLVM_VERSION-}|; s|@LLVM_BIN@|${LLVM_BIN-}|; s|@TARGETS@|${TARGETS-}|" \
        -e "s|@MACHINE_LIBS@|${MACHINE_LIBS:+ $MACHINE_LIBS}|; s|@CMAKE_LIBS@|${MACHINE_LIBS:+;$MACHINE_LIBS}|" \
        -e "s|@LLVM_ARCHIVES@|$(llvm_archives)|; s|@LLVM_LIBS@|${LLVM_LINK-}|" \
        -e "s|@LLVM_FOLDERS@|$(llvm_words -L)|; s|@LLVM_NAMES@|$(llvm_words -l)|" "$1"
}

# What needs no LLVM.
put_headers() {
    for header in include/tenon/*.h; do
        put 644 "$header" "$INCLUDEDIR/tenon"
    done
    [ $action = install ] || rmdir "$DESTDIR$INCLUDEDIR/tenon" 2>/dev/null || true
    for header in "" _cpu _heap _managed _image _package _save _compiler _cache _remote _jit _ahead _build; do
        put 644 "include/tenon$header.h" "$INCLUDEDIR"
    done
}

# put_filled FILE.in FOLDER NAME [TARGET]
put_filled() {
    filled "$1" "$2" "${4-}" >"$work/filled"
    put 644 "$work/filled" "$2" "$3"
}

# ---- what goes where ----

sed '/symtab/d' tenon.pc.in >"$work/tenon-musl.pc.in" # musl has no libelf

if [ "$action" = describe ]; then
    libdir=$(realpath "$BUILD")
    stubs=$libdir/obj/stub
    INCLUDEDIR=$(realpath include)
    mkdir -p "$BUILD/pkgconfig"
    for name in tenon ${LLVM_LINK:+tenon-codegen}; do
        filled $name.pc.in "$BUILD/pkgconfig" >"$BUILD/pkgconfig/$name.pc"
    done
    for target in ${LLVM_LINK:+$targets}; do
        filled tenon-codegen-target.pc.in "$BUILD/pkgconfig" "$target" >"$BUILD/pkgconfig/tenon-codegen-$target.pc"
    done
    libdir=$libdir/musl
    filled "$work/tenon-musl.pc.in" "$BUILD/pkgconfig" >"$BUILD/pkgconfig/tenon-musl.pc"
    exit 0
fi

# An archive belongs to one libc: musl's lies beside the system's, with a description of its own.
if [ "$part" = musl ]; then
    libdir=$LIBDIR/tenon-musl
    stubs=
    put_headers
    put_archive "$BUILD/musl/libtenon.a" "$libdir"
    put_filled "$work/tenon-musl.pc.in" "$LIBDIR/pkgconfig" tenon-musl.pc
    [ $action = install ] || rmdir "$DESTDIR$libdir" 2>/dev/null || true
    exit 0
fi

libdir=$LIBDIR
stubs=$LIBDIR/tenon/stubs
put_headers
put_archive "$BUILD/libtenon.a" "$LIBDIR"
put_filled tenon.pc.in "$LIBDIR/pkgconfig" tenon.pc
put_filled cmake/tenon-config.cmake.in "$LIBDIR/cmake/tenon" tenon-config.cmake
put_filled cmake/tenon-config-version.cmake.in "$LIBDIR/cmake/tenon" tenon-config-version.cmake
for document in README.md CHANGELOG.md SECURITY.md LICENSE; do
    put 644 "$document" "$DOCDIR"
done
# Where README and the headers say that they are.
for page in doc/*.md doc/figures.svg; do
    put 644 "$page" "$DOCDIR/doc"
done
for page in doc/tutorial/*.md; do
    put 644 "$page" "$DOCDIR/doc/tutorial"
done
# What products contain besides: README says which of them. Where packages are not Debian's, their users have them.
put 644 "$MIMALLOC_DIR/LICENSE" "$DOCDIR" LICENSE.mimalloc
put 755 tools/gc-report "$DOCDIR"
for part in ${LLVM_LINK:+llvm-${LLVM_VERSION%%.*}-dev zlib1g-dev libzstd-dev musl-dev libelf-dev}; do
    file=/usr/share/doc/$part/copyright
    [ ! -f "$file" ] || put 644 "$file" "$DOCDIR" "LICENSE.${part%-dev}"
done
examples="plugin reload rules heap formulas"

if [ -n "${LLVM_LINK-}" ]; then
    put 755 "$BUILD/tenon" "$BINDIR"
    put 644 doc/tenon.1 "$MANDIR/man1"
    put_completion bash "$BASH_COMPLETION" tenon
    put_completion zsh "$ZSH_COMPLETION" _tenon
    put_completion fish "$FISH_COMPLETION" tenon.fish
    put 644 include/tenon_codegen.h "$INCLUDEDIR"
    put_archive "$BUILD/libtenon_codegen.a" "$LIBDIR"
    for stub in "$BUILD"/obj/stub/*.list; do # there is one beside each stub
        [ ! -f "$stub" ] || put 755 "${stub%.list}" "$stubs"
    done
    put_filled tenon-codegen.pc.in "$LIBDIR/pkgconfig" tenon-codegen.pc
    for target in $targets; do
        put_archive "$BUILD/libtenon_codegen_$target.a" "$LIBDIR"
        put_filled tenon-codegen-target.pc.in "$LIBDIR/pkgconfig" "tenon-codegen-$target.pc" "$target"
    done
    examples="$examples hello calc cached collected catalogue packages product plugin-cpp dl tiny dowel dowel/programs"
fi
for example in $examples; do
    for file in examples/"$example"/*; do
        [ ! -f "$file" ] || put 644 "$file" "$DOCDIR/examples/$example"
    done
done

if [ $action = uninstall ]; then
    find "$DESTDIR$DOCDIR" "$DESTDIR$LIBDIR/cmake/tenon" "$DESTDIR$LIBDIR/tenon" -depth -type d -empty \
        -delete 2>/dev/null || true
fi
