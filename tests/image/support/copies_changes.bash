# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What changes in copies_base.c, and the functions of copies.c that are stale then. For each change, $work/KEY is the
# image `base` with it, $work/KEY.bc its IR, and $work/KEY.wanted what functions answer if all sources are one program;
# KEY is the change, or `same`. The caller has compile and base.

changes=('' G=x+100 H=x*3 'OUTER=g(x)+4' LIMIT=6 TABLE=9 'TEXT="other"' 'COUNT=counter+=2' EVEN=2 STATE=2 "$@")
declare -A stale=([G=x+100]='begin.user f fill inner.user o p timed' [H=x*3]='k p' ['OUTER=g(x)+4']=o [LIMIT=6]='l u'
    [TABLE=9]='m t' ['TEXT="other"']=w ['COUNT=counter+=2']=c [EVEN=2]=e)
for change in "${changes[@]}"; do
    key=${change:-same}
    compile ${change:+"-D$change"} $source/copies_base.c -o "$work/$key.bc" && base "$key" "$work/$key.bc" &&
        "$CC" -w -Iinclude -DITSELF ${change:+"-D$change"} $source/copies_host.c $source/copies.c \
            $source/copies_base.c "$BUILD/libtenon.a" -pthread -o "$work/program" &&
        "$work/program" >"$work/$key.wanted" || exit 1
done
