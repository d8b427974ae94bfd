#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# make dist: the same bytes for the same commit, with the sources and a list of parts.

. tests/build/check

if ! git rev-parse HEAD >/dev/null 2>&1; then
    echo "ok make dist # SKIP this is no git checkout"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
succeeds "make dist writes" tools/build/dist "$work/first"
sleep 1 # gzip would store seconds
succeeds "and again" tools/build/dist "$work/second"
succeeds "both are the same" diff -r "$work/first" "$work/second"
archive=$(basename "$work/first/"*.tar.gz)
succeeds "the checksum is right" env -C "$work/first" sha256sum --check --quiet "$archive.sha256"
tar -xzf "$work/first/$archive" -C "$work"
none "the archive has every file of the commit" \
    "$(diff <(git ls-tree -r --name-only HEAD | sort) <(cd "$work/${archive%.tar.gz}" && find . -type f -o -type l |
        sed 's|^./||' | sort))"
spdx=$work/first/${archive%.tar.gz}.spdx
answers "each part has a version and a licence" "9 9 9 8" awk '
    /^PackageName: /    { parts++ }
    /^PackageVersion: [0-9]/ { versions++ }
    /^PackageLicenseDeclared: [A-Z]/ { licences++ }
    / CONTAINS /        { contained++ }
    END { print parts, versions, licences, contained }' "$spdx"
