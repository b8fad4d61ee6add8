/* libredline_python.so: the hooks that run at every step, as functions of Python. A
 * call through ctypes takes ten times as long. Callers must hold the interpreter lock
 * (ctypes.PyDLL), and the Python must be the one of redline_python_version(). */
#ifndef REDLINE_PROFILER_PYTHON_STEP_HOOKS_H_
#define REDLINE_PROFILER_PYTHON_STEP_HOOKS_H_

#include "profiler/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

struct _object;

/* A tuple of functions: log_enter(part), log_leave(part), log_step(samples, tokens) and
 * next_step(number), which call those of the same name in profiler/c_api.h. NULL after a Python
 * exception. */
REDLINE_API struct _object* redline_python_step_functions(void);

/* From now on a call of `wrapper` calls `original` with the same arguments while the list `inside`
 * is not empty, as the body of `wrapper` must do, too: the interpreter may call either. Both are
 * functions of Python. Once a process. Gives None, or NULL after a Python exception. */
REDLINE_API struct _object* redline_python_call_through(struct _object* wrapper,
                                                        struct _object* original,
                                                        struct _object* inside);

#ifdef __cplusplus
}
#endif

#endif /* REDLINE_PROFILER_PYTHON_STEP_HOOKS_H_ */
