// Names that programs give their streams through NVTX.
#include <exception>

#include "profiler/nvtx/nvtx_domain.h"
#include "profiler/nvtx/nvtx_module.h"
#include "profiler/source/gpu_work.h"

namespace redline::profiler {
namespace {

template <typename Char>
void on_name(void* stream, const Char* name) noexcept {
  if (name == nullptr) return;
  try {
    name_stream(stream, to_utf8(name));
  } catch (const std::exception&) {
    // No memory: the trace shows the stream's number instead.
  }
}

}  // namespace

void serve_stream_names(const NvtxModule& driver, const NvtxModule& runtime) {
  driver.set(nvtx::kNameCuStreamA, on_name<char>);
  driver.set(nvtx::kNameCuStreamW, on_name<wchar_t>);
  runtime.set(nvtx::kNameCudaStreamA, on_name<char>);
  runtime.set(nvtx::kNameCudaStreamW, on_name<wchar_t>);
}

}  // namespace redline::profiler
