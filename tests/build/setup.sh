#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Setting up leaves the packages of a machine as they are: apt itself is asked, about machines without an unwinder of
# LLVM's and with that of LLVM 14, which excludes ours, whichever this machine has.

set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$("${LLVM_BIN:?}/llvm-config" --version)
ours=libunwind-${version%%.*}-dev

if ! apt-cache show "$ours" >"$work/known" 2>&1; then
    echo "ok packages that are there stay # SKIP apt has no lists that know $ours"
    exit 0
fi

# This machine's packages without LLVM's unwinders, without libc++, which needs one, and with the lines given.
machine_with() {
    awk -v RS= -v ORS='\n\n' '!/^Package: lib(unwind|c\+\+(abi)?(1)?)-[0-9]/' /var/lib/dpkg/status >"$work/status"
    cat >>"$work/status"
    echo "Dir::State::status \"$work/status\";" >"$work/apt.conf"
}

plan() {
    DPKG_ADMINDIR=$work APT_CONFIG=$work/apt.conf LLVM_CONFIG=llvm-config-${version%%.*} tools/build/setup.sh plan test
}

check() { # NAME WANTED UNWANTED
    if grep -q "$2" "$work/said" && ! grep -q "$3" "$work/said"; then
        echo "ok $1"
    else
        echo "not ok $1: $(tr '\n' ' ' <"$work/said")"
    fi
}

machine_with </dev/null
plan >"$work/said" 2>&1
check "what is missing is planned" "^setup: packages: .*$ours" "left out"
check "the plan has sizes" "on disk: [1-9]" "left out"

machine_with <<'END'
Package: libunwind-14-dev
Status: install ok installed
Priority: optional
Section: libdevel
Maintainer: nobody
Architecture: amd64
Version: 1:14.0.6-12
Provides: libunwind-x.y-dev
Description: LLVM's unwinder, another version

END
plan >"$work/said" 2>&1
check "packages that are there stay" "left out: $ours, which would remove libunwind-14-dev" "^setup: packages: .*$ours"
