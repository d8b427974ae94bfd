#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# setup.sh check|install|plan GROUP...     GROUP: build cross musl demo test slow models lint bench peers html deb fuzz
#                                          qemu aarch64
#
# What the build needs from the system. `check` names what is missing with the command that installs it and fails;
# `install` gets it through apt, and prints before what it will install; `plan` only prints that. All do nothing,
# offline too, when all is there. No installed package is removed or downgraded: see leave_out_conflicts. The machine's
# apt configuration is left alone: mimalloc and programs for tests come as Debian's source packages through a list of
# ours, see fetch_source; LLVM and other libraries for another machine come as its binary packages, see fetch_sysroot.
#
# Environment: LLVM=0 leaves the code generator out; LLVM_CONFIG; MUSL_CC; MIMALLOC_DIR; HOST; SYSROOT; SUDO (the word
# before apt-get).

set -eu

: "${LLVM:=1}" "${LLVM_CONFIG:=llvm-config-22}" "${MIMALLOC_DIR:=build/deps/mimalloc}"
own_mimalloc=build/deps/mimalloc # fetched by us; any other MIMALLOC_DIR is the user's
sqlite=build/deps/sqlite3
lua=build/deps/lua5.4
zstd=build/deps/libzstd
zlib=build/deps/zlib
cmocka=build/deps/cmocka
musl=build/deps/musl
# The libraries of machines that the code generator is compiled for; SYSROOT is the user's.
aarch64=build/deps/aarch64-linux-gnu

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
        "$(llvm_packages 'libunwind-%s-dev')" "$(llvm_packages 'libclang-rt-%s-dev')" groff-base bzip2 tcl elfutils \
        strace ninja-build zsh fish locales libedit-dev gcc-mingw-w64-x86-64-win32 csmith libcsmith-dev llvm-14-dev ;;
    models-*) echo spin ;;
    slow-*) packages_of models ;;
    demo-*) echo "$(llvm_packages 'clang-%s')" lua5.4 liblua5.4-dev sqlite3 libsqlite3-dev pkgconf ;;
    bench-*) echo tcl valgrind libedit-dev "$(llvm_packages 'clang-%s')" ;;
    peers-*) echo libgc-dev luajit lua5.4 sbcl guile-3.0 openjdk-17-jdk-headless ocaml-nox golang-go ;;
    musl-*) echo musl-tools ;;
    fuzz-*) echo "$(llvm_packages 'clang-%s')" "$(llvm_packages 'libclang-rt-%s-dev')" ;;
    cross-*) echo "g++-$HOST" ;;
    html-*) echo pandoc doxygen mandoc ;;
    deb-*) echo dpkg-dev xz-utils lintian mmdebstrap ;;
    qemu-*) echo qemu-user qemu-user-static g++-aarch64-linux-gnu g++-riscv64-linux-gnu ;;
    aarch64-*) ;;
    lint-*) echo clang-format-14 cppcheck python3 "$(llvm_packages 'clang-%s')" ;;
    *) fail "unknown group '$1'" ;;
    esac
}

# Packages that other ones exclude, and whose tests are skipped where they are missing.
may_be_missing() { llvm_packages 'libunwind-%s-dev'; }

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
    musl) echo $musl/made ;;
    aarch64) echo "$aarch64/usr/lib/llvm-${LLVM_CONFIG#llvm-config-}/lib/libLLVMCore.a" ;;
    esac
}

# What is downloaded for it, about; the lists of source packages are downloaded as well, 10 MB.
size_of() {
    case $1 in
    sqlite) echo "14 MB" ;;
    lua) echo "0.4 MB" ;;
    zstd) echo "1.6 MB" ;;
    zlib) echo "1.2 MB" ;;
    cmocka) echo "0.1 MB" ;;
    musl) echo "1.1 MB" ;;
    aarch64) echo "48 MB" ;;
    mimalloc) echo "0.2 MB" ;;
    esac
}

sources_of() {
    case $1-$LLVM in
    bench-*) echo sqlite ;;
    test-0) ;;
    test-*) echo sqlite lua zstd zlib ;;
    qemu-*) echo sqlite lua zstd cmocka musl ;;
    aarch64-*) echo aarch64 ;;
    cross-0) ;;
    cross-*) sysroot_of "$HOST" ;;
    esac
}

# What LLVM is unpacked as for a machine; nothing where the user has it elsewhere.
sysroot_of() {
    case ${SYSROOT:+user}-$1 in
    user-*) ;;
    *-aarch64-linux-gnu) echo aarch64 ;;
    *) fail "there is no package of LLVM for $1; what works:  make HOST=$1 LLVM=0" ;;
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

apt_environment="LC_ALL=C DEBIAN_FRONTEND=noninteractive"
install_options="--no-install-recommends --no-remove"

# What a user with the right to install types.
apt_command() { echo "apt-get update && apt-get install $install_options $*"; }

# The installed packages that installing these would remove, as apt sees it.
removed_by() {
    # shellcheck disable=SC2086
    env $apt_environment apt-get install -s --no-install-recommends "$@" </dev/null 2>/dev/null |
        sed -n 's/^Remv \([^ ]*\) .*/\1/p' | tr '\n' ' '
}

# Sets `missing` to the packages of it that can be installed beside those of the machine. What would remove one of
# these is left out if its tests can be skipped, and an error if not.
leave_out_conflicts() {
    [ -n "$missing" ] && command -v apt-get >/dev/null && [ -n "$(removed_by $missing)" ] || return 0
    kept=
    for package in $missing; do
        removed=$(removed_by "$package")
        case " $(may_be_missing) " in
        *" $package "*) may_miss=true ;;
        *) may_miss=false ;;
        esac
        if [ -z "$removed" ]; then
            kept="$kept$package "
        elif $may_miss; then
            say "left out: $package, which would remove ${removed% }; tests that need it are skipped"
        else
            fail "$package is needed, and would remove ${removed% }; nothing is installed. Remove these, or install" \
                "$package, by your own command"
        fi
    done
    missing=$kept
}

# What apt would install with these packages, and how large that is; a rough size of each source that is fetched.
show_plan() {
    if [ -n "$missing" ]; then
        say "packages: $missing"
        # shellcheck disable=SC2086
        env $apt_environment apt-get install --assume-no $install_options $missing </dev/null 2>/dev/null |
            sed -n 's/^\([0-9]* upgraded, [0-9]* newly installed\),.*/setup:     with what they need: \1/p
                    s/^Need to get \(.*\) of archives\.$/setup:     download: \1/p
                    s/^After this operation, \(.*\) of additional disk.*/setup:     on disk: \1/p' >&2
    fi
    for source in $($mimalloc_there || echo mimalloc) $missing_sources; do
        say "source of $source, into the build folder; download: $(size_of "$source")"
    done
}

update_lists() {
    [ -n "${SUDO-}" ] || [ "$(id -u)" = 0 ] || command -v sudo >/dev/null ||
        fail "root is needed for:  $(apt_command $missing)"
    as_root env $apt_environment apt-get -o DPkg::Lock::Timeout=600 update </dev/null ||
        say "apt-get update failed; going on with the lists that are there"
}

install_packages() {
    # shellcheck disable=SC2086
    as_root env $apt_environment apt-get -o DPkg::Lock::Timeout=600 install -y $install_options "$@" </dev/null &&
        return
    unknown=$(for package; do apt-cache show "$package" >/dev/null 2>&1 || echo "$package"; done)
    [ -z "$unknown" ] || say "apt does not know:" $unknown \
        "(for LLVM 22, Debian 12 needs bookworm-security in its sources)"
    fail "not installed; the command was:  $(apt_command "$@")"
}

# The machine's own Debian mirrors as lines that begin with $1, with the options $2. A key that the machine names for a
# mirror is named here too.
mirrors() {
    apt-get indextargets --format '$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(SOURCESENTRY)' \
        'Created-By: Packages' |
        sort -u | while IFS='|' read -r origin uri release component entry; do
        [ "$origin" = Debian ] && [ "$component" = main ] || continue
        key=$(sed -n 's/^[Ss]igned-[Bb]y: *\(\/[^ ]*\).*/\1/p; s/^deb.*signed-by=\([^] ]*\).*/\1/p' "${entry%:*}" \
            2>/dev/null |
            head -n 1)
        options=$2${key:+ signed-by=$key}
        echo "$1 ${options:+[$options] }$uri $release $component"
    done
}

download() {
    rm -f "$work/files/"*
    # shellcheck disable=SC2086
    apt-get $apt update </dev/null && (cd "$work/files" && apt-get $apt "$@" </dev/null)
}

# download_from LINE OPTIONS FOLDER WHAT APT-GET...: runs apt-get for files from mirrors(LINE, OPTIONS), into
# $work/files. apt checks the signatures and checksums; the lists and caches that it makes are ours and go away.
download_from() {
    line=$1 options=$2 folder=$3 what=$4
    shift 4
    say "fetching $what"
    command -v apt-get >/dev/null || fail "there is no apt-get; put $what, unpacked, into $folder"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    chmod 755 "$work"
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/files" "$work/tree" "$(dirname "$folder")"
    if [ "$(id -u)" = 0 ]; then chown _apt "$work/files" 2>/dev/null || true; fi
    mirrors "$line" "$options" >"$work/sources.list"
    [ -s "$work/sources.list" ] || as_root apt-get update </dev/null # the mirrors' origin stands in their lists
    [ -s "$work/sources.list" ] || mirrors "$line" "$options" >"$work/sources.list"
    [ -s "$work/sources.list" ] || fail "apt knows no Debian mirror; put $what, unpacked, into $folder"
    apt="-o Dir::Etc::SourceList=$work/sources.list -o Dir::Etc::SourceParts=/dev/null
        -o Dir::State::Lists=$work/lists -o Dir::Cache=$work/cache ${apt_options-}"
    download "$@" || {
        say "trying the release without its updates" # a mirror may list a version that it has no longer
        sed -i '/-security\|-updates/d' "$work/sources.list"
        download "$@"
    }
}

# Puts what was unpacked in $work/tree into its place.
keep_tree() {
    rm -rf "$1"
    mv "$work/tree" "$1"
    rm -rf "$work"
}

# The source package $1, unpacked into the folder $2, without Debian's patches.
fetch_source() {
    download_from deb-src "" "$2" "the source package of $1" source -qq --download-only "$1"
    rm -f "$work/files/"*.asc
    tar -xf "$work/files/"*.orig.tar.* -C "$work/tree" --strip-components=1
    keep_tree "$2"
}

# What the code generator and the command are linked with on Debian's architecture $1, unpacked into the folder $2: 48
# MB are fetched, 390 MB are unpacked. The machine's own packages are left alone. musl's compiler options name paths.
fetch_sysroot() {
    apt_options="-o APT::Architecture=$1 -o APT::Architectures=$1 -o Dir::State::status=/dev/null"
    # shellcheck disable=SC2046
    download_from deb "arch=$1" "$2" "the libraries for $1" download $(llvm_packages 'llvm-%s-dev') \
        libelf-dev zlib1g-dev libzstd-dev musl-dev
    apt_options=
    for package in "$work/files/"*.deb; do dpkg-deb -x "$package" "$work/tree"; done
    sed -i "s|/usr/|$2&|g" "$work/tree"/usr/lib/*/musl-gcc.specs
    keep_tree "$2"
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
    musl) make_musl ;;
    aarch64) fetch_sysroot arm64 $aarch64 ;;
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

# musl for the machines of `make test-qemu`, each in a folder of its own; Debian has no cross packages of it. Compiler
# options that name paths do so from the top folder.
make_musl() {
    [ -f $musl/configure ] || fetch_source musl $musl
    for host in aarch64-linux-gnu riscv64-linux-gnu; do
        say "making musl for $host"
        prefix=$PWD/$musl/$host
        (mkdir -p "$prefix.objects" && cd "$prefix.objects" &&
            ../configure --target=$host --prefix="$prefix" --disable-shared --enable-wrapper=gcc CC=$host-gcc &&
            make -j"$(nproc)" install) >$musl/$host.log 2>&1 || fail "musl's own make failed; see $musl/$host.log"
        sed -i "s|$PWD/||g" $musl/$host/lib/musl-gcc.specs
    done
    echo yes >$musl/made
}

# ---- the commands ----

action=${1-}
case $action in
check | install | plan) shift ;;
*) fail "usage: setup.sh check|install|plan GROUP..." ;;
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

# Needed are: packages, mimalloc, other sources.
is_complete() { [ -z "$missing" ] && $mimalloc_there && [ -z "$missing_sources" ]; }

leave_out_conflicts
if [ "$action" = plan ]; then
    if is_complete; then say "everything is there"; else show_plan; fi
    exit
elif [ "$action" = install ] && ! is_complete; then
    [ -z "$missing" ] || update_lists
    leave_out_conflicts
    show_plan
    [ -z "$missing" ] || install_packages $missing
    $mimalloc_there || fetch_mimalloc
    for source in $missing_sources; do get_source "$source"; done
elif ! is_complete; then
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
