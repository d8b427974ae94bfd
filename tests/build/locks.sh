# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tools/build/locks.py finds functions that use what a session's lock guards without holding it, and nothing else: a few
# lines each, and sources of the linker without the call that takes the lock, or with one more.

. tests/build/check

found() {
    PYTHONDONTWRITEBYTECODE=1 python3 - "$1" "${2-}" "${3-}" <<'END'
import re, sys
sys.path.insert(0, "tools/build")
import locks
text, source, edit = sys.argv[1:]
if source:
    with open(source, encoding="utf-8") as stream:
        whole = stream.read()
    before, after = edit.replace("\\n", "\n").split(" -> ")
    text = whole.replace(before, after, 1)
    if text == whole:
        sys.exit(f"{source} has no {before}")
names = {"requires holding": "needs", "cannot call": "must not", "already held": "twice", "still held": "kept",
         "not held on every path": "one path", "that was not held": "not held", "expecting": "kept"}
kinds = {next((kind for words, kind in names.items() if words in what), what) for _, what in locks.find_in("-", text)}
print(" ".join(sorted(kinds)))
END
}

beginning='#include "link/session/contents.h"
#define TAKE    tn__session_lock(session)
#define PAUSE   tn__session_pause(session)
#define RELEASE tn__session_unlock(session)
#define USE     tn__library_drop(library)
#define CALL    tn__session_report(session, NULL)
extern struct tn_session *session;
extern struct tn_library *library;
extern bool some;
'
while IFS='|' read -r name expected line; do
    answers "$name" "$expected" found "$beginning$line"
done <<'END'
used with the lock||void f(void) { TAKE; USE; RELEASE; CALL; }
held by the caller||void f(void) TN__LOCKED; void f(void) { USE; PAUSE; CALL; TAKE; USE; }
taken by the function||void f(void) TN__LOCKS; void f(void) { TAKE; } void g(void) { f(); USE; RELEASE; }
used without it|needs|void f(void) { USE; }
used after its release|needs|void f(void) { TAKE; RELEASE; USE; }
used between release and taking|needs|void f(void) { TAKE; PAUSE; USE; TAKE; RELEASE; }
taken twice|twice|void f(void) { TAKE; TAKE; RELEASE; }
not released|kept|void f(void) { TAKE; USE; }
released on one path|one path|void f(void) { TAKE; if (some) RELEASE; }
released without it|not held|void f(void) { RELEASE; }
a call of the client with the lock|must not|void f(void) { TAKE; CALL; RELEASE; }
END

while IFS='|' read -r source expected edit; do
    answers "$source: $edit" "$expected" found "" "$source" "$edit"
done <<'END'
src/link/session/suppliers.c||tn__session_lock(session); -> tn__session_lock(session); /* the same */
src/link/session/suppliers.c|needs not held|tn__session_lock(session); -> ;
src/link/redirect/raise.c|needs not held|tn__session_lock(library->session); -> ;
src/link/demand/cancel.c|must not twice|tn__session_unlock(session); -> tn__query_continue(session);
src/link/demand/query.c|needs not held|_lock(session);\n        end_early(query); -> _pause(session); end_early(query);
END
