/* Calls of torch.nn.Modules as a source of the recorder, without the other Python functions. Part
 * of libredline_python.so; callers must hold the interpreter lock (ctypes.PyDLL). */
#ifndef REDLINE_PROFILER_PYTHON_MODULE_CALLS_H_
#define REDLINE_PROFILER_PYTHON_MODULE_CALLS_H_

#include "profiler/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Records all calls of modules from now on; call it when a window has started. `call` is
 * torch.nn.Module.__call__. Gives 0 if it is no function of Python, and then records nothing. */
struct _object;
REDLINE_API int redline_python_start_modules(struct _object* call);

/* Ends the recording; call it before the window is stopped. Calls that are still open are not
 * recorded. */
REDLINE_API void redline_python_stop_modules(void);

#ifdef __cplusplus
}
#endif

#endif /* REDLINE_PROFILER_PYTHON_MODULE_CALLS_H_ */
