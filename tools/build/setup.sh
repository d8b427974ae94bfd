#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# setup.sh check|install GROUP...     GROUP: build cross musl demo test slow models lint bench peers fuzz qemu
#
# What the build needs from the system. `check` names what is missing with the command that installs it and fails;
# `install` gets it through apt. Both do nothing, offline too, when all is there. The machine's apt configuration is
# left alone: mimalloc and programs for tests come as Debian's source packages through a list of ours, see fetch_source.
#
# Environment: LLVM=0 leaves the code generator out; LLVM_CONFIG; MUSL_CC; MIMALLOC_DIR; HOST; SUDO (the word before
# apt-get).

set -eu

: "${LLVM:=1}" "${LLVM_CONFIG:=llvm-config-22}" "${MIMALLOC_DIR:=build/deps/mimalloc}"
own_mimalloc=build/deps/mimalloc # fetched by us; any other MIMALLOC_DIR is the user's
sqlite=build/deps/sqlite3
lua=build/deps/lua5.4
zstd=build/deps/libzstd
zlib=build/deps/zlib
cmocka=build/deps/cmocka

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$@"; exit 1; }

# ---- what belongs to which group ----

# The packages of LLVM follow the version in LLVM_CONFIG's name; a path means that LLVM was put there by other means.
llvm_packages() {
    case $LLVM_CONFIG in
    llvm-config-[0-9]*) printf "$1 " "${LLVM_CONFIG#llvm-config-}" ;;
    esac
}

# The command carries programs with musl, unless it is built without.
musl_of_stubs() { [ "${MUSL_CC-musl-gcc}" != musl-gcc ] || packages_of musl; }

packages_of() {
    case $1-$LLVM in
    build-0) echo gcc libc6-dev libelf-dev xz-utils ;;
    build-*) echo "$(LLVM=0 packages_of build)" g++ zlib1g-dev libzstd-dev "$(llvm_packages 'llvm-%s-dev')" \
        "$(llvm_packages 'lld-%s')" "$(musl_of_stubs)" ;;
    test-0) echo libcmocka-dev cmake pkgconf gdb linux-perf "$(packages_of musl)" ;;
    test-*) echo "$(LLVM=0 packages_of test)" "$(packages_of demo)" "$(llvm_packages 'llvm-%s-tools')" \
        "$(llvm_packages 'libunwind-%s-dev')" groff-base tcl elfutils strace ninja-build gcc-mingw-w64-x86-64-win32 ;;
    models-*) echo spin ;;
    slow-0) packages_of models ;;
    slow-*) echo "$(packages_of models)" "$(llvm_packages 'libclang-rt-%s-dev')" csmith libcsmith-dev ;;
    demo-*) echo "$(llvm_packages 'clang-%s')" lua5.4 liblua5.4-dev sqlite3 libsqlite3-dev pkgconf ;;
    bench-*) echo tcl valgrind "$(llvm_packages 'clang-%s')" ;;
    peers-*) echo libgc-dev openjdk-17-jdk-headless ocaml-nox golang-go ;;
    musl-*) echo musl-tools ;;
    fuzz-*) echo "$(llvm_packages 'clang-%s')" "$(llvm_packages 'libclang-rt-%s-dev')" ;;
    cross-*) echo "g++-$HOST" ;;
    qemu-*) echo qemu-user-static g++-aarch64-linux-gnu g++-riscv64-linux-gnu ;;
    lint-*) echo clang-format-14 cppcheck python3 ;;
    *) fail "unknown group '$1'" ;;
    esac
}

# One question to dpkg for everything.
missing_packages() {
    command -v dpkg-query >/dev/null || return 0 # not Debian: the compiler will say what it lacks
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
    for package; do
        case "
$installed
" in
        *"
installed $package
"*) ;;
        *) echo "$package" ;;
        esac
    done
}

# What has to be there of each source that is fetched.
file_of() {
    case $1 in
    sqlite) echo $sqlite/sqlite3.c ;;
    lua) echo $lua/src/lua.h ;;
    zstd) echo $zstd/lib/zstd.h ;;
    zlib) echo $zlib/zlib.h ;;
    cmocka) echo $cmocka/src/cmocka.c ;;
    esac
}

sources_of() {
    case $1-$LLVM in
    bench-*) echo sqlite ;;
    test-0) ;;
    test-*) echo sqlite lua zstd zlib ;;
    qemu-*) echo sqlite lua zstd cmocka ;;
    esac
}

missing_sources() {
    for source; do [ -f "$(file_of "$source")" ] || echo "$source"; done
}

has_mimalloc() { [ -f "$MIMALLOC_DIR/src/static.c" ] && [ -f "$MIMALLOC_DIR/include/mimalloc.h" ]; }

# ---- getting it ----

as_root() {
    if [ -n "${SUDO-}" ]; then $SUDO "$@"
    elif [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else fail "root is needed; as root:  $*"
    fi
}

# What somebody with the right to install types.
apt_command() { echo "apt-get update && apt-get install --no-install-recommends $*"; }

install_packages() {
    [ -n "${SUDO-}" ] || [ "$(id -u)" = 0 ] || command -v sudo >/dev/null ||
        fail "root is needed for:  $(apt_command "$@")"
    say "installing $*"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 update </dev/null ||
        say "apt-get update failed; going on with the lists that are there"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends \
        "$@" </dev/null && return
    unknown=$(for package; do apt-cache show "$package" >/dev/null 2>&1 || echo "$package"; done)
    [ -z "$unknown" ] || say "apt does not know:" $unknown \
        "(for LLVM 22, Debian 12 needs bookworm-security in its sources)"
    fail "not installed; the command was:  $(apt_command "$@")"
}

# The machine's own Debian mirrors as deb-src lines. A key that the machine names for a mirror is named here too.
source_lines() {
    apt-get indextargets --format '$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(SOURCESENTRY)' \
        'Created-By: Packages' |
        sort -u | while IFS='|' read -r origin uri release component entry; do
        [ "$origin" = Debian ] && [ "$component" = main ] || continue
        key=$(sed -n 's/^[Ss]igned-[Bb]y: *\(\/[^ ]*\).*/\1/p; s/^deb.*signed-by=\([^] ]*\).*/\1/p' "${entry%:*}" \
            2>/dev/null |
            head -n 1)
        echo "deb-src ${key:+[signed-by=$key] }$uri $release $component"
    done
}

download_source() {
    rm -f "$work/source/"*
    apt-get $apt update </dev/null && (cd "$work/source" && apt-get $apt source -qq --download-only "$1" </dev/null)
}

# The source package $1, unpacked into the folder $2, without Debian's patches. apt checks the archive's signature and
# the checksum of each file; the lists and caches it makes are ours and go away.
fetch_source() {
    say "fetching the source package of $1"
    command -v apt-get >/dev/null || fail "there is no apt-get; put the unpacked source of $1 into $2"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    chmod 755 "$work"
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/source"
    if [ "$(id -u)" = 0 ]; then chown _apt "$work/source" 2>/dev/null || true; fi
    source_lines >"$work/sources.list"
    [ -s "$work/sources.list" ] || as_root apt-get update </dev/null # the mirrors' origin stands in their lists
    [ -s "$work/sources.list" ] || source_lines >"$work/sources.list"
    [ -s "$work/sources.list" ] ||
        fail "apt knows no Debian mirror; put the unpacked source of $1 into $2"
    apt="-o Dir::Etc::SourceList=$work/sources.list -o Dir::Etc::SourceParts=/dev/null
        -o Dir::State::Lists=$work/lists -o Dir::Cache=$work/cache"
    download_source "$1" || {
        say "trying the release without its updates" # a mirror may list a version that it has no longer
        sed -i '/-security\|-updates/d' "$work/sources.list"
        download_source "$1"
    }
    mkdir -p "$work/tree" "$(dirname "$2")"
    rm -f "$work/source/"*.asc
    tar -xf "$work/source/"*.orig.tar.* -C "$work/tree" --strip-components=1
    rm -rf "$2"
    mv "$work/tree" "$2"
    rm -rf "$work"
}

fetch_mimalloc() {
    fetch_source mimalloc "$own_mimalloc"
    has_mimalloc || fail "the source package of mimalloc has no src/static.c"
}

get_source() {
    case $1 in
    sqlite) make_sqlite ;;
    lua) fetch_source lua5.4 $lua ;;
    zstd) fetch_source libzstd $zstd ;;
    zlib) fetch_source zlib $zlib ;;
    cmocka) fetch_source cmocka $cmocka ;;
    esac
    [ -f "$(file_of "$1")" ] || fail "the source of $1 has no $(file_of "$1")"
}

# All of SQLite in one file: what the linker is measured with, and the largest module of the tests.
make_sqlite() {
    [ -f $sqlite/tool/mksqlite3c.tcl ] || fetch_source sqlite3 $sqlite
    say "making SQLite's amalgamation"
    (cd $sqlite && ./configure --disable-tcl --disable-readline >configure.log 2>&1 && make sqlite3.c >make.log 2>&1) &&
        [ -f $sqlite/sqlite3.c ] || fail "SQLite's own make failed; see $sqlite/make.log"
}

# ---- the two commands ----

action=${1-}
case $action in
check | install) shift ;;
*) fail "usage: setup.sh check|install GROUP..." ;;
esac
groups=$*

packages= sources= builds=false
for group; do
    packages="$packages $(packages_of "$group")"
    sources="$sources $(sources_of "$group")"
    [ "$group" != build ] || builds=true
done
missing=$(missing_packages $packages | awk '!seen[$0]++' | tr '\n' ' ')
missing_sources=$(missing_sources $sources | sort -u)
mimalloc_there=true
if $builds && ! has_mimalloc; then
    [ "$MIMALLOC_DIR" = "$own_mimalloc" ] ||
        fail "MIMALLOC_DIR=$MIMALLOC_DIR has no src/static.c and include/mimalloc.h (the source of mimalloc 2)"
    mimalloc_there=false
fi

if [ "$action" = install ]; then
    [ -z "$missing" ] || install_packages $missing
    $mimalloc_there || fetch_mimalloc
    for source in $missing_sources; do get_source "$source"; done
elif [ -n "$missing" ] || ! $mimalloc_there || [ -n "$missing_sources" ]; then
    without=
    [ "$LLVM" != 0 ] || without="LLVM=0 "
    say "not everything is there; this gets what building and testing need:  make ${without}setup"
    say "or only what is needed here:"
    [ -z "$missing" ] || say "    $(apt_command $missing)"
    $mimalloc_there ||
        say "    ${without}$0 install $groups     # the source of mimalloc; or give its folder: MIMALLOC_DIR=..."
    [ -z "$missing_sources" ] || say "    ${without}$0 install $groups     # the source of" $missing_sources
    exit 1
fi

if $builds && [ "$LLVM" != 0 ]; then
    "$LLVM_CONFIG" --version >/dev/null 2>&1 || fail "LLVM_CONFIG=$LLVM_CONFIG cannot be run"
fi
