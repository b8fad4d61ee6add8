/* libredline_torch.so, the LibTorch adapter of libredline.so. Loading it is enough: it attaches
 * itself, and is built against one LibTorch. */
#ifndef REDLINE_PROFILER_TORCH_TORCH_OPS_H_
#define REDLINE_PROFILER_TORCH_TORCH_OPS_H_

#include "profiler/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes LibTorch's operators a source of the recorder, from its next (or already prepared) window
 * on. May be called again. Gives 0. */
REDLINE_API int redline_torch_attach(void);

#ifdef __cplusplus
}
#endif

#endif /* REDLINE_PROFILER_TORCH_TORCH_OPS_H_ */
