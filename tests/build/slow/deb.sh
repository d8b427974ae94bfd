# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# make deb: four packages that lintian accepts; in a clean system of Debian they are installed, and each example is
# built and runs. The documentation has no link that leads nowhere.
#
# time limit: 3600

. tests/build/check

for program in dpkg-deb lintian mmdebstrap pandoc doxygen mandoc; do
    command -v $program >/dev/null && continue
    echo "ok make deb # SKIP there is no $program"
    exit 0
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
deb=$BUILD/deb
rm -rf "$deb"
succeeds "make deb" make --no-print-directory deb
packages=("$deb"/*.deb)
answers "there are four packages" "libtenon-codegen-dev libtenon-dev tenon tenon-doc" \
    bash -c 'for file; do dpkg-deb -f "$file" Package; done | sort | paste -sd " "' - "${packages[@]}"
none "lintian has no complaint" "$(lintian --display-level=warning --fail-on=none --allow-root "${packages[@]}" 2>&1 |
    grep -v '^N: ')"
cp -r "$deb" "$work/first"
touch "$deb/tenon_0.0.0_all.deb"
succeeds "they are made again" bash -c 'umask 077 && make --no-print-directory deb'
succeeds "and are the same" diff -r "$deb" "$work/first"

# ---- what is in them ----

for file in "${packages[@]}"; do dpkg-deb -c "$file"; done >"$work/list"
awk '$1 ~ /^-/ { print $6 }' "$work/list" | sort >"$work/files"
none "everybody may read them" "$(grep -vE '^(-rw-r--r--|[-d]rwxr-xr-x) root/root ' "$work/list")"
none "each file is in one package" "$(uniq -d "$work/files")"
for file in usr/bin/tenon usr/include/tenon.h usr/include/tenon_codegen.h usr/share/man/man1/tenon.1.gz \
    usr/share/bash-completion/completions/tenon usr/share/zsh/vendor-completions/_tenon \
    usr/share/fish/vendor_completions.d/tenon.fish usr/share/doc/tenon-doc/html/README.html; do
    some "$file is there" "$(grep -x "./$file" "$work/files")"
done
none "all pages are there" "$(find doc -name '*.md' -o -name '*.svg' | sed 's|^|./usr/share/doc/tenon-doc/|' | sort |
    comm -23 - "$work/files")"
mkdir "$work/doc" && dpkg-deb -x "$deb"/tenon-doc_*.deb "$work/doc"
docs=$work/doc/usr/share/doc/tenon-doc
none "no link leads nowhere" "$(python3 tests/build/slow/links.py "$docs/html" 2>"$work/links")"
some "there are many links" "$(grep -E '[0-9]{2,} pages, [0-9]{4,} links' "$work/links")"
sed -i 's/href="GC.html"/href="GCC.html"/; s/id="the-phases"/id="phases"/' "$docs"/html/doc/*.html
some "a wrong one would be seen" "$(python3 tests/build/slow/links.py "$docs/html" 2>/dev/null | grep 'no GCC.html')"
some "a wrong place too" "$(python3 tests/build/slow/links.py "$docs/html" 2>/dev/null | grep 'no place .*#the-phases')"

# ---- in a clean system ----

cat >"$work/examples" <<'END'
# Builds and runs each example; in the clean system.
export DEBIAN_FRONTEND=noninteractive
try() { local name=$1; shift; if "$@" >/tmp/said 2>&1 && [ -s /tmp/said ]; then echo "ok $name"; else
    echo "not ok $name: $(tail -n 4 /tmp/said | tr '\n' ' ')"; fi; }
install() { try "$1" apt-get install -y --no-install-recommends "${@:2}"; }
install "the packages are installed" /packages/*.deb
cp -r /usr/share/doc/tenon-doc/examples /examples
cd /examples
for example in *; do
    case $example in
    hello) try "example hello" tenon run hello/hello.ll ;;
    product) try "example product" make -s -C product alone ;;
    catalogue)
        try "example catalogue" make -C catalogue ROWS=1000
        try "example catalogue, shop" make -C catalogue ROWS=1000 shop ;;
    *) try "example $example" make -s -C $example run ;;
    esac
done
try "the command has a manual" zcat /usr/share/man/man1/tenon.1.gz
try "bash completes" bash -c 'source /usr/share/bash-completion/completions/tenon
    COMP_WORDS=(tenon comp); COMP_CWORD=1; compopt() { :; }; _tenon; printf "%s\n" "${COMPREPLY[@]}" | grep -x compile'
try "they are removed" apt-get purge -y tenon tenon-doc libtenon-dev libtenon-codegen-dev
[ -z "$(find / -xdev -name '*tenon*' -not -path '/packages/*' -not -path '/proc/*' -not -path '/examples/*' \
    -not -path '/var/lib/apt/*' -not -path '/var/cache/*' -not -path '/var/log/*' | head)" ] &&
    echo "ok and leave nothing" || echo "not ok and leave nothing"
END
sources=/etc/apt/sources.list.d/debian.sources
[ -f $sources ] || sources=/etc/apt/sources.list
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
if ! mmdebstrap --quiet --variant=apt --format=null \
    --include=make,pkgconf,gcc,g++,libc6-dev,musl-tools,libedit-dev,ca-certificates \
    --customize-hook="mkdir \"\$1/packages\"" \
    --customize-hook="cp '$PWD/$deb/'*.deb \"\$1/packages\"" \
    --customize-hook="cp '$work/examples' \"\$1/examples.sh\"" \
    --customize-hook='chroot "$1" bash /examples.sh >&2' "$release" - $sources 2>"$work/said"; then
    echo "not ok a clean system: $(tail -n 5 "$work/said" | tr '\n' ' ')"
fi
grep -E '^(not )?ok ' "$work/said"
some "each example was tried" "$(grep -c '^ok example' "$work/said" | grep -xE '1[0-9]|[2-9][0-9]')"
