/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A line on the terminal about work that takes longer than a second. A thread of its own draws it, because LLVM may
 * work for seconds without reporting anything. It blocks all signals, which are meant for other threads. */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"
#include "lib/watch.h"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool running, drawn;
    int held;
    uint64_t begun;
    char module[60];
    const char *doing;
    atomic_uint functions;
    size_t done, parts; /* 0: they are not counted */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER, .doing = "reading"};

static void draw_bar(void)
{
    static const char full[] = "####################";
    int width = (int)sizeof full - 1, filled = (int)(self.done * (size_t)width / self.parts);
    fprintf(stderr, "\r\033[K[%.*s%*s] %zu of %zu shards", filled, full, width - filled, "", self.done, self.parts);
}

static void draw(void)
{
    if (self.parts)
        draw_bar();
    else
        fprintf(stderr, "\r\033[K%s %s", self.doing, self.module);
    fprintf(stderr, "  %.0f s", (double)(tn__os_now_ns() - self.begun) / 1e9);
    if (self.functions)
        fprintf(stderr, "  %u functions compiled", self.functions);
    fflush(stderr);
    self.drawn = true;
}

static void *work(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&self.lock);
    struct timespec next;
    clock_gettime(CLOCK_REALTIME, &next);
    next.tv_sec++;
    while (self.running)
        if (pthread_cond_timedwait(&self.changed, &self.lock, &next) != 0) {
            if (!self.held)
                draw();
            next.tv_nsec += 250000000;
            next.tv_sec += next.tv_nsec / 1000000000;
            next.tv_nsec %= 1000000000;
        }
    pthread_mutex_unlock(&self.lock);
    return NULL;
}

bool tool_progress_start(void)
{
    if (!isatty(STDERR_FILENO))
        return false;
    sigset_t all, mask;
    sigfillset(&all);
    self.begun = tn__os_now_ns();
    self.running = true;
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    self.running = pthread_cond_init(&self.changed, NULL) == 0 && pthread_create(&self.thread, NULL, work, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return self.running;
}

void tool_progress_phase(const char *module, enum tn_phase ended)
{
    static const char *const next[] = {"optimising", "emitting", "linking"};
    const char *base = strrchr(module, '/') ? strrchr(module, '/') + 1 : module;
    pthread_mutex_lock(&self.lock);
    self.doing = next[ended];
    snprintf(self.module, sizeof self.module, "%s", base);
    pthread_mutex_unlock(&self.lock);
}

void tool_progress_function(void)
{
    self.functions++;
}

void tool_progress_parts(size_t done, size_t parts)
{
    pthread_mutex_lock(&self.lock);
    self.done = done;
    self.parts = parts;
    pthread_mutex_unlock(&self.lock);
}

static void erase(void)
{
    if (self.drawn)
        fputs("\r\033[K", stderr);
    self.drawn = false;
}

void tool_progress_hold(void)
{
    pthread_mutex_lock(&self.lock);
    self.held++;
    erase();
    pthread_mutex_unlock(&self.lock);
}

void tool_progress_release(void)
{
    pthread_mutex_lock(&self.lock);
    self.held--;
    pthread_mutex_unlock(&self.lock);
}

void tool_progress_stop(void)
{
    if (!self.running)
        return;
    pthread_mutex_lock(&self.lock);
    self.running = false;
    pthread_cond_signal(&self.changed);
    pthread_mutex_unlock(&self.lock);
    pthread_join(self.thread, NULL);
    erase();
}
