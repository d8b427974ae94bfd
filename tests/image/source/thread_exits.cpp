/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Thread_local objects with destructors, which say when they run: through another image where there is one
 * (-DTHROUGH=say). */

extern "C" void THROUGH(const char *what);

struct noisy {
    const char *name;
    explicit noisy(const char *name) : name(name)
    {
    }
    ~noisy();
};

static thread_local noisy inner("unused");

noisy::~noisy()
{
    THROUGH(name);
    if (this != &inner)
        inner.name = "inner"; /* constructed while destructors run */
}

static thread_local noisy outer("unused");

extern "C" void enter_thread(const char *name)
{
    outer.name = name;
}

__attribute__((destructor)) static void finalize()
{
    THROUGH("finalizer");
}
