// Sees torch.profiler begin to record GPUs. It then gives CUPTI its own buffers, but CUPTI keeps
// those that our window gave it, fills them up, and hands them to torch.profiler, which throws them
// away: neither has the records (seen with CUPTI 13.0). So we redirect that call of LibTorch, and
// our window gives up CUPTI before. One that has begun before a window keeps CUPTI.
#include <dlfcn.h>

#if __has_include(<kineto/libkineto.h>)  // else this torch is built without Kineto
#include <kineto/libkineto.h>
#endif

#include <atomic>

#include "profiler/source/gpu_work.h"
#include "profiler/source/source.h"
#include "profiler/torch/attach.h"
#include "profiler/torch/call_redirect.h"

namespace redline::profiler {
namespace {

using RegisterBuffers = int (*)(void* requested, void* completed);

std::atomic<RegisterBuffers> g_register = nullptr;

int give_up_and_register(void* requested, void* completed) {
  give_up_gpu("torch.profiler");
  RegisterBuffers original = g_register;
  while (original == nullptr) original = g_register;  // enable() is just about to set it
  return original(requested, completed);
}

/// Whether Kineto, which torch.profiler stands on, is at work. Its warm-up counts: it registers its
/// buffers there already, while LibTorch says only later that it profiles.
bool is_kineto_active() {
#if __has_include(<kineto/libkineto.h>)
  // By name, because a torch that is built from source may have the header only.
  using Api = libkineto::LibkinetoApi& (*)();
  const auto api = reinterpret_cast<Api>(dlsym(RTLD_DEFAULT, "_ZN9libkineto3apiEv"));
  return api != nullptr && api().isProfilerInitialized() && api().activityProfiler().isActive();
#else
  return false;
#endif
}

class TorchProfilerStart final : public Source {
 public:
  void enable(const RecorderOptions& options) noexcept override {
    if (!options.record_gpu) return;
    // If there is no memory, a torch.profiler that begins within this window finds no GPU work.
    if (redirect_.enable()) g_register = reinterpret_cast<RegisterBuffers>(redirect_.original());
  }
  void disable() noexcept override { redirect_.disable(); }

 private:
  CallRedirect redirect_{"cuptiActivityRegisterCallbacks",
                         reinterpret_cast<void*>(&give_up_and_register)};
};

}  // namespace

void watch_torch_profiler() {
  static TorchProfilerStart source;
  add_source(&source);
  set_torch_profiler_query(is_kineto_active);
}

}  // namespace redline::profiler
