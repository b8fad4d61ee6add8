// Spares a recorded job most of what an observer costs in a backward pass.
//
// Around each function of a backward pass, LibTorch sets the thread's state of observers twice: to
// that of the forward pass, and back. Each time it takes a lock, copies the list of all observers
// and prepares them again for each scope. Nearly always the state is what it was before, because
// only a thread with observers of its own, such as torch.profiler's, has another one. So while we
// record, setting the same state does nothing. Observers that are added or removed meanwhile are
// noticed all the same: LibTorch compares a version whenever a function runs.
#include <ATen/record_function.h>

#include "profiler/source/source.h"
#include "profiler/torch/attach.h"
#include "profiler/torch/call_redirect.h"

namespace redline::profiler {
namespace {

bool is_same(const at::RecordFunctionTLS& a, const at::RecordFunctionTLS& b) {
  return a.sorted_tls_callbacks_.empty() && b.sorted_tls_callbacks_.empty() &&
         a.tls_record_function_enabled_ == b.tls_record_function_enabled_;
}

void set_if_other(const at::RecordFunctionTLS& state) {
  if (!is_same(state, at::get_record_function_tls_())) at::set_record_function_tls_(state);
}

class KeptCallbacks final : public Source {
 public:
  void enable(const RecorderOptions&) noexcept override {
    static_cast<void>(settings_.enable());  // if false, recording costs more
  }
  void disable() noexcept override { settings_.disable(); }

 private:
  CallRedirect settings_{"_ZN2at24set_record_function_tls_ERKNS_17RecordFunctionTLSE",
                         reinterpret_cast<void*>(&set_if_other)};
};

}  // namespace

void keep_callbacks() {
  static KeptCallbacks source;
  add_source(&source);
}

}  // namespace redline::profiler
