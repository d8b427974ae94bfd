/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <pthread.h>

#include "thread.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tn__thread *attached;
static void (*attach_hook)(struct tn__thread *thread);

static __thread struct tn__thread self __attribute__((tls_model("initial-exec")));

void tn__threads_lock(void)
{
    pthread_mutex_lock(&lock);
}

void tn__threads_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

struct tn__thread *tn__threads_first(void)
{
    return attached;
}

void tn__threads_on_attach(void (*hook)(struct tn__thread *thread))
{
    attach_hook = hook;
}

void tn_thread_attach(void)
{
    tn__threads_lock();
    if (!self.link) {
        self.thread_pointer = tn__thread_pointer();
        self.next = attached;
        self.link = &attached;
        if (attached)
            attached->link = &self.next;
        attached = &self;
        if (attach_hook)
            attach_hook(&self);
    }
    tn__threads_unlock();
}

void tn_thread_detach(void)
{
    tn__threads_lock();
    if (self.link) {
        *self.link = self.next;
        if (self.next)
            self.next->link = self.link;
        self = (struct tn__thread){0};
    }
    tn__threads_unlock();
}
