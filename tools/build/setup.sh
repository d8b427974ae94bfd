#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# setup.sh check|install GROUP...     GROUP: build test lint
#
# What the build needs from the system. `check` names what is missing with the command that installs it and fails;
# `install` gets it through apt. Both do nothing, offline too, when all is there. The machine's apt configuration is left
# alone: mimalloc comes as Debian's source package through a list of ours, see fetch_mimalloc.
#
# Environment: LLVM=0 leaves the code generator out; LLVM_CONFIG; MIMALLOC_DIR; SUDO (the word before apt-get).

set -eu

: "${LLVM:=1}" "${LLVM_CONFIG:=llvm-config-22}" "${MIMALLOC_DIR:=build/deps/mimalloc}"
own_mimalloc=build/deps/mimalloc # fetched by us; any other MIMALLOC_DIR is the user's

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$@"; exit 1; }

# ---- what belongs to which group ----

# The packages of LLVM follow the version in LLVM_CONFIG's name; a path means that LLVM was put there by other means.
llvm_packages() {
    case $LLVM_CONFIG in
    llvm-config-[0-9]*) printf "$1 " "${LLVM_CONFIG#llvm-config-}" ;;
    esac
}

packages_of() {
    case $1-$LLVM in
    build-0) echo gcc libc6-dev libelf-dev xz-utils ;;
    build-*) echo "$(LLVM=0 packages_of build)" g++ zlib1g-dev libzstd-dev "$(llvm_packages 'llvm-%s-dev')" \
        "$(llvm_packages 'lld-%s')" ;;
    test-0) echo libcmocka-dev ;;
    test-*) echo "$(LLVM=0 packages_of test)" "$(llvm_packages 'llvm-%s-tools')" "$(llvm_packages 'clang-%s')" \
        lua5.4 liblua5.4-dev sqlite3 libsqlite3-dev ;;
    lint-*) echo clang-format-14 python3 ;;
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

has_mimalloc() { [ -f "$MIMALLOC_DIR/src/static.c" ] && [ -f "$MIMALLOC_DIR/include/mimalloc.h" ]; }

# ---- getting it ----

as_root() {
    if [ -n "${SUDO-}" ]; then $SUDO "$@"
    elif [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else fail "root is needed; as root:  $*"
    fi
}

install_packages() {
    say "installing $*"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 update </dev/null ||
        say "apt-get update failed; going on with the lists that are there"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends \
        "$@" </dev/null
}

# The machine's own Debian mirrors as deb-src lines. A key that the machine names for a mirror is named here too.
source_lines() {
    apt-get indextargets --format '$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(SOURCESENTRY)' 'Created-By: Packages' |
        sort -u | while IFS='|' read -r origin uri release component entry; do
        [ "$origin" = Debian ] && [ "$component" = main ] || continue
        key=$(sed -n 's/^[Ss]igned-[Bb]y: *\(\/[^ ]*\).*/\1/p; s/^deb.*signed-by=\([^] ]*\).*/\1/p' "${entry%:*}" 2>/dev/null |
            head -n 1)
        echo "deb-src ${key:+[signed-by=$key] }$uri $release $component"
    done
}

# apt checks the archive's signature and the checksum of each file; the lists and caches it makes are ours and go away.
fetch_mimalloc() {
    say "fetching the source package of mimalloc"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    chmod 755 "$work"
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/source"
    if [ "$(id -u)" = 0 ]; then chown _apt "$work/source" 2>/dev/null || true; fi
    source_lines >"$work/sources.list"
    [ -s "$work/sources.list" ] || as_root apt-get update </dev/null # the mirrors' origin stands in their lists
    [ -s "$work/sources.list" ] || source_lines >"$work/sources.list"
    [ -s "$work/sources.list" ] ||
        fail "apt knows no Debian mirror; give the unpacked source of mimalloc 2 as MIMALLOC_DIR=..."
    set -- -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache"
    apt-get "$@" update </dev/null
    (cd "$work/source" && apt-get "$@" source -qq --download-only mimalloc </dev/null)
    mkdir -p "$work/tree" "$(dirname "$own_mimalloc")"
    tar -xf "$work"/source/mimalloc_*.orig.tar.* -C "$work/tree" --strip-components=1
    rm -rf "$own_mimalloc"
    mv "$work/tree" "$own_mimalloc"
    has_mimalloc || fail "the source package of mimalloc has no src/static.c"
}

# ---- the two commands ----

action=${1-}
case $action in
check | install) shift ;;
*) fail "usage: setup.sh check|install GROUP..." ;;
esac

packages= builds=false
for group; do
    packages="$packages $(packages_of "$group")"
    [ "$group" != build ] || builds=true
done
missing=$(missing_packages $packages | tr '\n' ' ')
source_there=true
if $builds && ! has_mimalloc; then
    [ "$MIMALLOC_DIR" = "$own_mimalloc" ] ||
        fail "MIMALLOC_DIR=$MIMALLOC_DIR has no src/static.c and include/mimalloc.h (the source of mimalloc 2)"
    source_there=false
fi

if [ "$action" = install ]; then
    [ -z "$missing" ] || install_packages $missing
    $source_there || fetch_mimalloc
elif [ -n "$missing" ] || ! $source_there; then
    say "not everything is there; 'make setup' gets it, or:"
    [ -z "$missing" ] || say "    apt-get install --no-install-recommends $missing"
    $source_there || say "    make setup      # the source of mimalloc; or give its folder: MIMALLOC_DIR=..."
    exit 1
fi

if $builds && [ "$LLVM" != 0 ]; then
    "$LLVM_CONFIG" --version >/dev/null 2>&1 || fail "LLVM_CONFIG=$LLVM_CONFIG cannot be run"
fi
