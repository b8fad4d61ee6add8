#include "profiler/torch/torch_sources.h"

#include <ATen/record_function.h>

#include <memory>
#include <utility>

#include "profiler/source/source.h"

namespace redline::profiler {
namespace {

std::unique_ptr<at::ObserverContext> on_user_scope(const at::RecordFunction& function) noexcept {
  see_marker(function.name());
  return nullptr;
}

class TorchMarkers final : public MarkerSource {
 public:
  void watch_markers() noexcept override {
    if (std::exchange(is_watching_, true)) return;
    try {
      at::addGlobalCallback(
          at::RecordFunctionCallback(on_user_scope).scopes({at::RecordScope::USER_SCOPE}));
    } catch (...) {
      // Other kinds of markers work all the same.
    }
  }

 private:
  bool is_watching_ = false;
};

}  // namespace

void attach_torch_markers() {
  static TorchMarkers source;
  add_marker_source(&source);
}

}  // namespace redline::profiler
