/* For a program that uses NVTX and links libredline.so: include this in one source file, which does
 * not include NVTX, and its ranges and marks are recorded without NVTX_INJECTION64_PATH, which
 * still wins where it is set. NVTX looks for this variable by its name. */
#ifndef REDLINE_PROFILER_NVTX_STATIC_H_
#define REDLINE_PROFILER_NVTX_STATIC_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int InitializeInjectionNvtx2(const void* (*get_export_table)(uint32_t));
int InitializeInjectionNvtxExtension(void* module);
extern int (*InitializeInjectionNvtx2_fnptr)(const void* (*get_export_table)(uint32_t));
int (*InitializeInjectionNvtx2_fnptr)(const void* (*)(uint32_t)) = InitializeInjectionNvtx2;
extern int (*InitializeInjectionNvtxExtension_fnptr)(void* module);
int (*InitializeInjectionNvtxExtension_fnptr)(void*) = InitializeInjectionNvtxExtension;

#ifdef __cplusplus
}
#endif

#endif /* REDLINE_PROFILER_NVTX_STATIC_H_ */
