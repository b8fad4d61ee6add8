#include "profiler/torch/torch_sources.h"

#include <dlfcn.h>
#include <torch/version.h>

#include "profiler/source/source.h"

namespace redline::profiler {

void add_torch_settings() {
  if (dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr) return;
  add_entry("torch_version", "\"" TORCH_VERSION "\"");
  add_entry("torch", "{\"version\": \"" TORCH_VERSION "\"}");
}

}  // namespace redline::profiler
