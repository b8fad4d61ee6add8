/* libredline_python.so: the hooks that run at every step. A hook is a callable that goes through no
 * frame of Python of its own, because within a step, whose code and data fill the caches, each
 * costs microseconds. Callers must hold the interpreter lock (ctypes.PyDLL), and the Python must be
 * the one of redline_python_version(). */
#ifndef REDLINE_PROFILER_PYTHON_STEP_HOOKS_H_
#define REDLINE_PROFILER_PYTHON_STEP_HOOKS_H_

#include "profiler/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

struct _object;

/* A dict of functions, by name: next_step() of profiler/c_api.h, and what
 * python/redline/_step_log.py makes of its hooks. NULL after a Python exception. */
REDLINE_API struct _object* redline_python_step_functions(void);

/* From now on a call of `wrapper` calls `original` with the same arguments while the list `inside`
 * is not empty, as the body of `wrapper` must do, too: the interpreter may call either. Both are
 * functions of Python. Gives None, or NULL after a Python exception. */
REDLINE_API struct _object* redline_python_call_through(struct _object* wrapper,
                                                        struct _object* original,
                                                        struct _object* inside);

#ifdef __cplusplus
}
#endif

#endif /* REDLINE_PROFILER_PYTHON_STEP_HOOKS_H_ */
