// Names that programs give their streams through NVTX.
#include <exception>

#include "profiler/cupti/stream_names.h"
#include "profiler/nvtx/nvtx_domain.h"
#include "profiler/nvtx/nvtx_module.h"

namespace redline::profiler {
namespace {

template <typename Char>
void name_stream(void* stream, const Char* name) noexcept {
  if (name == nullptr) return;
  try {
    cupti::stream_names().add(stream, to_utf8(name));
  } catch (const std::exception&) {
    // No memory: the stream has its number.
  }
}

}  // namespace

void serve_stream_names(const NvtxModule& driver, const NvtxModule& runtime) {
  driver.set(nvtx::kNameCuStreamA, name_stream<char>);
  driver.set(nvtx::kNameCuStreamW, name_stream<wchar_t>);
  runtime.set(nvtx::kNameCudaStreamA, name_stream<char>);
  runtime.set(nvtx::kNameCudaStreamW, name_stream<wchar_t>);
}

}  // namespace redline::profiler
