#include "trace/analysis/name_kinds.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "trace/analysis/breakdown.h"
#include "trace/analysis/communication.h"
#include "trace/model/category.h"

namespace redline::trace {
namespace {

bool is_matrix_name(std::string_view name) {
  // The plugin's "Tensor Cores eligible" operators, with their names of today.
  constexpr std::array<std::string_view, 24> kNames = {"aten::conv1d",
                                                       "aten::conv2d",
                                                       "aten::conv3d",
                                                       "aten::conv_tbc",
                                                       "aten::conv_transpose1d",
                                                       "aten::conv_transpose2d",
                                                       "aten::conv_transpose3d",
                                                       "aten::convolution",
                                                       "aten::_convolution",
                                                       "aten::cudnn_convolution",
                                                       "aten::mkldnn_convolution",
                                                       "aten::convolution_backward",
                                                       "aten::cudnn_convolution_backward",
                                                       "aten::mkldnn_convolution_backward",
                                                       "aten::prelu",
                                                       "aten::addmm",
                                                       "aten::addmv",
                                                       "aten::addr",
                                                       "aten::matmul",
                                                       "aten::mm",
                                                       "aten::mv",
                                                       "aten::linear",
                                                       "aten::addbmm",
                                                       "aten::baddbmm"};
  if (!name.starts_with("aten::")) return false;
  return name == "aten::bmm" || name == "aten::chain_matmul" ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// "autograd::engine::evaluate_function: MmBackward0", "MmBackward0" (all that traces of 2021 have),
// "CompiledFunctionBackward", "torch::autograd::AccumulateGrad". Not "aten::convolution_backward".
bool is_backward_name(std::string_view name) {
  return name.starts_with("autograd::engine::evaluate_function: ") ||
         name.starts_with("torch::autograd::") ||
         (!name.starts_with("aten::") && name.find("Backward") != std::string_view::npos);
}

uint8_t kinds_of(std::string_view name) {
  const auto bit = [](bool is, NameKind kind) { return is ? kind : 0; };
  return static_cast<uint8_t>(
      bit(is_step_name(name), kStepName) | bit(is_dataloader_wait(name), kDataLoaderName) |
      bit(is_communication_op(name), kCommunicationOpName) |
      bit(is_communication_kernel(name), kCommunicationKernelName) |
      bit(is_matrix_name(name), kMatrixOpName) | bit(is_backward_name(name), kBackwardName) |
      bit(name.starts_with("Optimizer."), kOptimizerName));
}

}  // namespace

NameKinds::NameKinds(const Trace& trace) : kinds_(trace.string_count()) {
  for (uint32_t i = 0; i < kinds_.size(); ++i) kinds_[i] = kinds_of(trace.string(StringId{i}));
}

}  // namespace redline::trace
