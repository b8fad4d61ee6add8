#include "trace/analysis/operator_shapes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "trace/model/slice_class.h"
#include "trace/model/slice_view.h"
#include "trace/read/args.h"
#include "trace/read/text_cursor.h"

namespace redline::trace {
namespace {

constexpr std::string_view kSubclass = "PythonSubclass";  // around a __torch_dispatch__
constexpr size_t kInputKeys = 4, kSequence = 4;
constexpr auto kKeys = std::to_array<std::string_view>(
    {"Input Dims", "Input type", "Input Strides", "Concrete Inputs", "Sequence number"});
using InputTexts = std::array<std::string_view, kKeys.size()>;

// Whether brackets are nested no deeper than in lists of the sizes of lists of tensors: what is
// deeper is no list of inputs, and could overflow the stack of those who copy or write it.
bool is_shallow(std::string_view text) {
  constexpr int kDeepest = 3;
  int depth = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kDeepest) return false;
  }
  return true;
}

// Whether an operator of this name does more than to make a view or to allocate.
bool computes(std::string_view name) {
  constexpr std::string_view kOperators = "aten::";
  constexpr auto kViews = std::to_array<std::string_view>({"_unsafe_view", "alias",
                                                           "as_strided",   "chunk",
                                                           "detach",       "detach_",
                                                           "diagonal",     "empty",
                                                           "empty_like",   "expand",
                                                           "flatten",      "empty_strided",
                                                           "item",         "new_empty",
                                                           "is_nonzero",   "narrow",
                                                           "permute",      "_local_scalar_dense",
                                                           "reshape",      "_reshape_alias",
                                                           "result_type",  "resize_",
                                                           "select",       "set_",
                                                           "slice",        "split",
                                                           "squeeze",      "t",
                                                           "transpose",    "unbind",
                                                           "unfold",       "unsqueeze",
                                                           "view",         "view_as",
                                                           "unsafe_split"});
  if (!name.starts_with(kOperators)) return false;
  name.remove_prefix(kOperators.size());
  return std::ranges::find(kViews, name) == kViews.end();
}

// One call, and where its GPU work stands in a list of all.
struct Call {
  SliceId slice;
  size_t first_work = 0;
  size_t work_count = 0;
};

struct LaunchedBy {
  SliceId call;
  uint32_t row;  // of the table of GPU work
};

class ShapeTable {
 public:
  ShapeTable(const Trace& trace, const DeviceWorkTable& device, const HostTree& tree,
             const std::vector<Step>& steps)
      : trace_(trace), names_(trace), device_(device), tree_(tree), steps_(steps) {
    formulas_.resize(trace.string_count());
    for (uint32_t i = 0; i < formulas_.size(); ++i) {
      const std::string_view name = trace.string(StringId{i});
      formulas_[i] = find_formula(name);
      if (name == kSubclass) subclass_ = StringId{i};
    }
    if (subclass_) find_wrappers();
  }

  OperatorShapes build() {
    device_.rows.empty() ? collect_host_calls() : collect_launching_calls();
    // In the order of the text, which of a compressed file is inflated as it is read.
    std::ranges::sort(calls_, {}, [&](const Call& call) { return offset_of(call); });
    if (!have_shapes()) return {};
    shapes_.row_of_work.assign(device_.rows.size(), OperatorShapes::kNoRow);
    TextCursor text(trace_);
    ArgsScanner scanner;
    for (const Call& call : calls_) add(call, text, scanner);
    count_recomputed();
    return finish();
  }

 private:
  [[nodiscard]] uint64_t offset_of(const Call& call) const {
    return trace_.slices().text_offset[call.slice.value];
  }

  [[nodiscard]] const Formula* formula_of(SliceId slice) const {
    const StringId name = trace_.slices().name[slice.value];
    const bool is_wrapper = !is_wrapper_.empty() && is_wrapper_[slice.value];
    return name && !is_wrapper ? formulas_[name.value] : nullptr;
  }

  // A subclass of Tensor, such as DTensor, calls an operator anew with what it wraps. Outside stand
  // the sizes of the whole, which may be spread over many ranks.
  void find_wrappers() {
    is_wrapper_.resize(trace_.slice_count());
    for_each_slice(trace_, [&](SliceId slice, Category category) {
      const StringId name = trace_.slices().name[slice.value];
      if (category != Category::kCpuOp || !name || !formulas_[name.value]) return;
      bool is_inside = false;
      for (SliceId at = slice; (at = operator_around(trace_, tree_, at));) {
        const StringId around = trace_.slices().name[at.value];
        if (around == subclass_) is_inside = true;
        if (around == name && is_inside) is_wrapper_[at.value] = true;
      }
    });
  }

  // The operator that the work belongs to; none() if no operator launched it.
  [[nodiscard]] SliceId call_around(SliceId launch) const {
    const bool is_operator = trace_.slices().category[launch.value] == Category::kCpuOp;
    const SliceId innermost = is_operator ? launch : operator_around(trace_, tree_, launch);
    SliceId call = innermost;
    for (SliceId at = innermost; at; at = operator_around(trace_, tree_, at)) {
      if (formula_of(at)) call = at;
    }
    return call;
  }

  void collect_launching_calls() {
    for (uint32_t i = 0; i < device_.rows.size(); ++i) {
      const DeviceWork& work = device_.rows[i];
      if (work.is_communication) continue;
      const SliceId call = work.launch ? call_around(work.launch) : SliceId::none();
      if (call) {
        launched_.push_back({call, i});
      } else {
        shapes_.outside_ns += work.interval.length_ns();
      }
    }
    std::ranges::stable_sort(launched_, {},
                             [](const LaunchedBy& launched) { return launched.call.value; });
    for (size_t i = 0; i < launched_.size(); ++i) {
      if (i == 0 || launched_[i].call != launched_[i - 1].call) {
        calls_.push_back({launched_[i].call, i, 0});
      }
      ++calls_.back().work_count;
    }
  }

  // Of operators without a formula those that call no other one.
  void collect_host_calls() {
    std::vector<bool> may_count(trace_.string_count()), calls_others(trace_.slice_count());
    for (uint32_t i = 0; i < may_count.size(); ++i) {
      may_count[i] = formulas_[i] || computes(trace_.string(StringId{i}));
    }
    std::vector<SliceId> found;
    for_each_slice(trace_, [&](SliceId slice, Category category) {
      const StringId name = trace_.slices().name[slice.value];
      if (category != Category::kCpuOp || !name) return;
      if (const SliceId around = operator_around(trace_, tree_, slice)) {
        calls_others[around.value] = true;
      }
      if (may_count[name.value]) found.push_back(slice);
    });
    for (const SliceId slice : found) {
      if (!formula_of(slice) && calls_others[slice.value]) continue;
      if (call_around(slice) == slice) calls_.push_back({slice, 0, 0});
    }
  }

  // Asks a few neighbours at three places, so that a trace without shapes costs nothing: to read
  // anywhere in a compressed file takes milliseconds.
  [[nodiscard]] bool have_shapes() const {
    constexpr size_t kNeighbours = 16, kPlaces = 3;
    TextCursor text(trace_);
    for (size_t place = 0; place < kPlaces; ++place) {
      const size_t first = calls_.size() * place / kPlaces;
      for (size_t i = first; i < std::min(first + kNeighbours, calls_.size()); ++i) {
        std::array<std::string_view, 1> value;
        find_args(text.text_from(calls_[i].slice), std::span(kKeys).first(1), value);
        if (!value[0].empty()) return true;
      }
    }
    return false;
  }

  void add(const Call& call, TextCursor& text, ArgsScanner& scanner) {
    const StringId name = trace_.slices().name[call.slice.value];
    InputTexts texts;
    scanner.find(text.text_from(call.slice), name.value, kKeys, texts);
    key_.assign(std::to_string(name.value));
    for (size_t i = 0; i < kInputKeys; ++i) key_.append(1, '\n').append(texts[i]);
    const auto [known, is_new] = row_of_text_.try_emplace(key_, 0);
    if (is_new) known->second = row_of(name, texts, formula_of(call.slice));
    OperatorShape& row = shapes_.rows[known->second];
    shapes_.calls.push_back({call.slice, static_cast<uint32_t>(known->second)});
    ++row.count;
    row.host_ns += duration_ns(trace_, call.slice);
    if (is_in_step(call)) ++row.step_count;
    for (size_t i = call.first_work; i < call.first_work + call.work_count; ++i) {
      add_work(known->second, device_.rows[launched_[i].row]);
      shapes_.row_of_work[launched_[i].row] = static_cast<uint32_t>(known->second);
    }
    if ((tree_.kinds_around[call.slice.value] & kBackwardName) != 0) {
      add_backward(call, is_number(texts[kSequence]), text);
    }
  }

  [[nodiscard]] bool is_in_step(const Call& call) const {
    const int64_t begin_ns = trace_.slices().begin_ns[call.slice.value];
    return step_at(steps_, &Step::host, begin_ns) != nullptr;
  }

  static bool is_number(std::string_view text) {
    return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front()));
  }

  [[nodiscard]] bool is_node(SliceId slice) const {
    return names_.is(trace_.slices().name[slice.value], kBackwardName);
  }

  // Autograd numbers what is called while gradients are on: the outermost of operators that call
  // each other. In a node of autograd they are off, but for a forward pass that runs again. With
  // create_graph=True they are on all the time, and nothing in the node has no number.
  void add_backward(const Call& call, bool has_number, TextCursor& text) {
    SliceId node = SliceId::none(), outermost = call.slice;
    for (SliceId at = call.slice; at; at = operator_around(trace_, tree_, at)) {
      if (is_node(at)) {
        node = at;
      } else if (!node) {
        outermost = at;
      }
    }
    if (!node) return;
    if (!has_number && outermost != call.slice) {
      std::array<std::string_view, 1> number;
      find_args(text.text_from(outermost), std::span(kKeys).subspan(kSequence, 1), number);
      has_number = is_number(number[0]);
    }
    if (!has_number || is_node(call.slice)) {
      without_gradients_.insert(node);
    } else if (name_of(trace_, call.slice).find("ackward") == std::string_view::npos) {
      numbered_.push_back({shapes_.calls.size() - 1, node});
    }
  }

  void count_recomputed() {
    for (const auto& [index, node] : numbered_) {
      if (!without_gradients_.contains(node)) continue;
      ShapeCall& call = shapes_.calls[index];
      OperatorShape& row = shapes_.rows[call.row];
      call.is_recomputed = true;
      ++row.recomputed_count;
      if (is_in_step(calls_[index])) ++row.recomputed_step_count;
      row.recomputed_ns += taken_ns(calls_[index]);
    }
  }

  [[nodiscard]] int64_t taken_ns(const Call& call) const {
    if (device_.rows.empty()) return duration_ns(trace_, call.slice);
    int64_t sum_ns = 0;
    for (size_t i = call.first_work; i < call.first_work + call.work_count; ++i) {
      sum_ns += device_.rows[launched_[i].row].interval.length_ns();
    }
    return sum_ns;
  }

  // Texts that differ, but neither in the row's columns nor in what a call takes, are of one row.
  size_t row_of(StringId name, InputTexts texts, const Formula* formula) {
    for (std::string_view& each : texts) {
      if (!is_shallow(each)) each = {};
    }
    OperatorWork work;
    if (formula)
      work = work_of(*formula, OperatorInputs::parse(texts[0], texts[1], texts[2], texts[3]));
    OperatorShape row;
    row.name = name;
    row.input_dims = texts[0];
    row.input_types = texts[1];
    row.work = work;
    const auto key = std::tuple(name.value, row.input_dims, row.input_types, work.flops,
                                work.needed_flops, work.bytes);
    const auto [known, is_new] = row_of_work_.try_emplace(key, shapes_.rows.size());
    if (is_new) {
      if (!device_.rows.empty()) row.device_ns = 0;
      shapes_.rows.push_back(std::move(row));
    }
    int64_t& weight_bytes = shapes_.rows[known->second].work.weight_bytes;
    weight_bytes = std::min(weight_bytes, work.weight_bytes);
    return known->second;
  }

  void add_work(size_t index, const DeviceWork& work) {
    OperatorShape& row = shapes_.rows[index];
    const int64_t length_ns = work.interval.length_ns();
    *row.device_ns += length_ns;
    const uint64_t key = (uint64_t{index} << 32U) | work.name.value;
    const auto [known, is_new] = kernel_of_.try_emplace(key, row.kernels.size());
    if (is_new) row.kernels.push_back({work.name});
    ShapeKernel& kernel = row.kernels[known->second];
    ++kernel.count;
    kernel.total_ns += length_ns;
  }

  // "…CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, …": two bytes.
  static int64_t element_bytes(std::string_view kernel) {
    constexpr std::string_view kOpaque = "OpaqueType<";
    const size_t at = kernel.find(kOpaque);
    if (at == std::string_view::npos || at + kOpaque.size() + 1 >= kernel.size()) return 0;
    const char digit = kernel[at + kOpaque.size()];
    return kernel[at + kOpaque.size() + 1] == 'u' && digit > '0' && digit <= '9' ? digit - '0' : 0;
  }

  OperatorShapes finish() {
    for (OperatorShape& row : shapes_.rows) {
      if (row.work.moved_elements && row.kernels.size() == 1) {
        const int64_t bytes = element_bytes(trace_.string(row.kernels.front().name));
        if (bytes > 0) row.work.bytes = times(row.work.moved_elements, bytes);
      }
      std::ranges::stable_sort(row.kernels, std::greater(), &ShapeKernel::total_ns);
    }
    sort_rows();
    return std::move(shapes_);
  }

  void sort_rows() {
    std::vector<uint32_t> order(shapes_.rows.size()), place(shapes_.rows.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater(),
                             [&](uint32_t i) { return shapes_.rows[i].taken_ns(); });
    std::vector<OperatorShape> sorted;
    for (uint32_t i = 0; i < order.size(); ++i) {
      sorted.push_back(std::move(shapes_.rows[order[i]]));
      place[order[i]] = i;
    }
    shapes_.rows = std::move(sorted);
    for (ShapeCall& call : shapes_.calls) call.row = place[call.row];
    for (uint32_t& row : shapes_.row_of_work) {
      if (row != OperatorShapes::kNoRow) row = place[row];
    }
  }

  const Trace& trace_;
  NameKinds names_;
  const DeviceWorkTable& device_;
  const HostTree& tree_;
  const std::vector<Step>& steps_;
  std::vector<const Formula*> formulas_;  // by StringId
  StringId subclass_;
  std::vector<bool> is_wrapper_;  // by slice; empty without subclasses
  std::vector<Call> calls_;
  std::vector<LaunchedBy> launched_;  // by call
  std::string key_;
  std::unordered_map<std::string, size_t> row_of_text_;
  std::map<std::tuple<uint32_t, std::string, std::string, Count, Count, Count>, size_t>
      row_of_work_;
  std::unordered_map<uint64_t, size_t> kernel_of_;    // by row and name
  std::vector<std::pair<size_t, SliceId>> numbered_;  // in backward: of calls_, and its node
  std::unordered_set<SliceId> without_gradients_;     // nodes that called something without number
  OperatorShapes shapes_;
};

}  // namespace

OperatorShapes operator_shapes(const Trace& trace, const DeviceWorkTable& device,
                               const HostTree& tree, const std::vector<Step>& steps) {
  return ShapeTable(trace, device, tree, steps).build();
}

}  // namespace redline::trace
