/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Between the fault plan and the files that implement os.h. */

#ifndef TENON_FAULTS_H
#define TENON_FAULTS_H

#include "base.h"

/* Takes the next word of the fault plan for one memory request: 0 to go ahead, else the errno to fail with. */
TN_HIDDEN int tn__os_fault(bool executable, bool *ignore_hint);
/* The same for a read or a write; *half is set if it is to be done in two pieces. */
TN_HIDDEN int tn__os_transfer_fault(bool executable, bool *ignore_hint, bool *half);

/* The same for sending and receiving, which may be interrupted (EINTR). */
TN_HIDDEN int tn__os_socket_fault(bool *half);

/* True if the plan refuses tn__os_fence_threads. */
TN_HIDDEN bool tn__os_fence_fault(void);

#endif
