/* libredline_torch.so, the LibTorch adapter of libredline.so. Loading it is enough, because it
 * attaches itself. It is built against one version of LibTorch. */
#ifndef REDLINE_PROFILER_TORCH_TORCH_OPS_H_
#define REDLINE_PROFILER_TORCH_TORCH_OPS_H_

#include "profiler/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes LibTorch's operators a source of the recorder, from the present or next window on. May be
 * called again. Gives 0. */
REDLINE_API int redline_torch_attach(void);

/* From now on `seen` is called with type and text of each error that LibTorch's Python bindings
 * raise, before it is raised. The interpreter lock is held then, and no other error is set. Gives
 * 0, or -1 if these errors cannot be seen. */
struct _object;
typedef void (*redline_torch_error_seen)(struct _object* type, const char* text);
REDLINE_API int redline_torch_watch_errors(redline_torch_error_seen seen);

/* Counts the operators that begin, on all threads, from the first call with 1 to the next one with
 * 0, and gives the count since the process began; -1 if they cannot be counted. */
REDLINE_API int64_t redline_torch_count_operators(int is_on);

/* An input of a call: the address of a tensor's TensorImpl, a number, or the bits of a double. */
enum redline_torch_input_kind {
  REDLINE_TORCH_OTHER,
  REDLINE_TORCH_TENSOR,
  REDLINE_TORCH_INT,
  REDLINE_TORCH_BOOL,
  REDLINE_TORCH_DOUBLE
};
typedef struct {
  int64_t kind;
  int64_t value;
} redline_torch_input;

/* Begins an operator (or, with is_user_scope, an annotation) on this thread, which must also end
 * it. Operators within it are recorded as such. `members` are further members of "args", which a
 * window with shapes has; "" without any. Gives NULL if nothing is recorded now. */
REDLINE_API void* redline_torch_begin_call(const char* name, int is_user_scope,
                                           const redline_torch_input* inputs, uint64_t count,
                                           const char* members);
/* `call` may be NULL. */
REDLINE_API void redline_torch_end_call(void* call);

#ifdef __cplusplus
}
#endif

#endif /* REDLINE_PROFILER_TORCH_TORCH_OPS_H_ */
