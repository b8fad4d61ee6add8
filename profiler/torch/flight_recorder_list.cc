#include "profiler/torch/attach.h"

#include <dlfcn.h>

#include <algorithm>
#include <string>

#include "profiler/source/entered_collectives.h"
#include "profiler/torch/torch_ops.h"

namespace redline::profiler {
namespace {

/// Found by name, because not every torch has them. NCCL's groups have one of their own.
using Dump = std::string (*)(bool with_collectives, bool only_active);
constexpr const char* kDumps[] = {"_ZN4c10d18dump_fr_trace_jsonB5cxx11Ebb",
                                  "_ZN4c10d20dump_nccl_trace_jsonB5cxx11Ebb"};

class FlightRecorderList final : public EnteredCollectives {
 public:
  /// At exit(), before LibTorch's static objects are destroyed, because this library needs LibTorch
  /// and not the other way round. libredline.so may be told of the end only after that.
  ~FlightRecorderList() { end_of_sources(); }

  void tell(TakeText take, void* context) noexcept override {
    try {
      for (const char* name : kDumps) {
        const auto dump = reinterpret_cast<Dump>(dlsym(RTLD_DEFAULT, name));
        if (dump == nullptr) continue;
        const std::string text = dump(true, false);
        take(text.data(), text.size(), context);
      }
    } catch (...) {  // no memory: the table lacks them
    }
  }

  int64_t count_operators(bool is_on) noexcept override {
    return std::max<int64_t>(0, redline_torch_count_operators(is_on ? 1 : 0));
  }
};

}  // namespace

void attach_flight_recorder_list() {
  static FlightRecorderList list;
  add_collectives(&list);
}

}  // namespace redline::profiler
