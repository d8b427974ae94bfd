/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions of the client that are called under locks (doc/GC.md, "Callbacks"): what they must not call fails, instead
 * of waiting for ever. */

#include "gc/object/object.h"

__thread enum tn__callback tn__callback __attribute__((tls_model("initial-exec")));

int tn__refuse_in(enum tn__callback callback, struct tn_error *err)
{
    if (tn__callback < callback)
        return 0;
    return tn__fail(err, TN_ECYCLE, "%s must not call this function of a heap",
                    tn__callback == TN__IN_VISITOR ? "a type's visitor" : "a callback under a heap's lock");
}
