/* libredline_python.so: Python calls as a source of the recorder. It is built for one version of
 * Python and takes the interpreter's symbols from the process, be they in the executable or in a
 * libpython. Call with the interpreter lock held (ctypes.PyDLL). */
#ifndef REDLINE_PROFILER_PYTHON_PYTHON_FRAMES_H_
#define REDLINE_PROFILER_PYTHON_PYTHON_FRAMES_H_

#include "profiler/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The Python that the library was built for, such as "3.11". */
REDLINE_API const char* redline_python_version(void);

/* From now on all calls on all threads that the interpreter knows are recorded. To be called when a
 * window has started. `module_call` is the code object of torch.nn.Module.__call__ or None;
 * `path_prefixes` is a list of str that file names lose; `thread_hook` is threading.getprofile().
 * Gives a callable for threading.setprofile(), with which later threads record themselves and then
 * serve `thread_hook`; NULL with a Python exception. */
struct _object;
REDLINE_API struct _object* redline_python_start(struct _object* module_call,
                                                 struct _object* path_prefixes,
                                                 struct _object* thread_hook);

/* Ends it, before the window is stopped: what is open is recorded, and the threads get back the
 * profile functions that they had. Gives the number of threads whose profile function was set by
 * somebody else meanwhile: they were recorded until then. */
REDLINE_API int redline_python_stop(void);

/* The same in a forked child, where nothing is recorded. */
REDLINE_API void redline_python_forget(void);

#ifdef __cplusplus
}
#endif

#endif /* REDLINE_PROFILER_PYTHON_PYTHON_FRAMES_H_ */
