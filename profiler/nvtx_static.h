/* For a program that uses NVTX and links libredline.so. Include this header in one source file that
 * does not include NVTX. Then the program's ranges and marks are recorded even if
 * NVTX_INJECTION64_PATH is not set; if it is set, the tool that it names gets them. NVTX looks for
 * the variables below by their names. */
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
