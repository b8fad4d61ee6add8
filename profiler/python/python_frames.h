/* libredline_python.so: Python calls as a source of the recorder. It is built for one version of
 * Python and takes the interpreter's symbols from the process, where they may be in the executable
 * or in a libpython. Callers must hold the interpreter lock (ctypes.PyDLL). */
#ifndef REDLINE_PROFILER_PYTHON_PYTHON_FRAMES_H_
#define REDLINE_PROFILER_PYTHON_PYTHON_FRAMES_H_

#include "profiler/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The Python that the library was built for, such as "3.11". */
REDLINE_API const char* redline_python_version(void);

/* Records all calls on all threads that the interpreter knows, from now on. Call it when a window
 * has started. `module_call` is the code object of torch.nn.Module.__call__ or None.
 * `path_prefixes` is a list of str that are cut off from file names. `thread_hook` is
 * threading.getprofile(). Gives a callable for threading.setprofile(): with it, threads that start
 * later record themselves and also call `thread_hook`. Gives NULL after a Python exception. */
struct _object;
REDLINE_API struct _object* redline_python_start(struct _object* module_call,
                                                 struct _object* path_prefixes,
                                                 struct _object* thread_hook);

/* Ends the recording; call it before the window is stopped. Records the open calls, and gives the
 * threads back the profile functions that they had. Gives the number of threads whose profile
 * function somebody else has set meanwhile: they were recorded only until then. */
REDLINE_API int redline_python_stop(void);

/* Does the same in a forked child, but records nothing. */
REDLINE_API void redline_python_forget(void);

#ifdef __cplusplus
}
#endif

#endif /* REDLINE_PROFILER_PYTHON_PYTHON_FRAMES_H_ */
