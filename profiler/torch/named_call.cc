// Operators that Python code names itself: the kernels and graphs of torch.compile's code
// (python/redline/_compiled_code.py).
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <bit>
#include <memory>
#include <vector>

#include "profiler/log/per_thread.h"
#include "profiler/torch/operator_args.h"
#include "profiler/torch/torch_ops.h"

namespace redline::profiler {
namespace {

REDLINE_THREAD_LOCAL const char* t_named_inputs = "";

struct NamedCall {
  explicit NamedCall(at::RecordScope scope) : function(scope) {}

  std::vector<c10::IValue> inputs;
  at::RecordFunction function;  // its end is recorded when it is destroyed
};

c10::IValue value_of(const redline_torch_input& input) {
  switch (input.kind) {
    case REDLINE_TORCH_TENSOR: {
      auto* tensor = reinterpret_cast<c10::TensorImpl*>(input.value);
      return at::Tensor(
          c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim_copy(tensor));
    }
    case REDLINE_TORCH_INT:
      return input.value;
    case REDLINE_TORCH_BOOL:
      return input.value != 0;
    case REDLINE_TORCH_DOUBLE:
      return std::bit_cast<double>(input.value);
    default:
      return {};
  }
}

/// Takes the named inputs back, whatever happens.
struct NamedInputs {
  explicit NamedInputs(const char* members) { t_named_inputs = members; }
  ~NamedInputs() { t_named_inputs = ""; }
};

}  // namespace

std::string_view named_inputs() noexcept { return t_named_inputs; }

}  // namespace redline::profiler

void* redline_torch_begin_call(const char* name, int is_user_scope,
                               const redline_torch_input* inputs, uint64_t count,
                               const char* members) {
  using namespace redline::profiler;
  try {
    auto call = std::make_unique<NamedCall>(is_user_scope != 0 ? at::RecordScope::USER_SCOPE
                                                               : at::RecordScope::FUNCTION);
    if (!call->function.isActive()) return nullptr;
    const NamedInputs named(members);
    if (call->function.needsInputs()) {
      for (uint64_t i = 0; i < count; ++i) call->inputs.push_back(value_of(inputs[i]));
    }
    call->function.before(std::string_view(name), &call->inputs);
    return call.release();
  } catch (...) {
    return nullptr;  // no memory: the call is not recorded
  }
}

void redline_torch_end_call(void* call) { delete static_cast<redline::profiler::NamedCall*>(call); }
