// What each formula says of made-up inputs, and each datasheet of its device, as sums that are
// kept: operator_formulas_test.cc and roofline_test.cc have some of them counted by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "base/file.h"
#include "tests/kept_sums.h"
#include "tests/paths.h"
#include "trace/analysis/device_peaks.h"
#include "trace/analysis/operator_formulas.h"

namespace redline::trace {
namespace {

using redline::testing::Sums;

/// The inputs of a call by a letter each: x, w, b: input, weight and bias of a convolution; y: its
/// result; k, s, p, d, o: numbers of windows; f: a flag; g: groups; m: a mask; Q, K, V: attention;
/// l: a list of tensors; i: indices; 1..3: operands that broadcast; A, B: operands of a product.
struct Layout {
  const char* part_of_name;
  const char* letters;
};
constexpr std::array kLayouts = {
    Layout{"convolution_backward", "yxw?spdfogm"},
    Layout{"cudnn_convolution_relu", "xwbspdg"},
    Layout{"cudnn_convolution", "xwpsdg"},
    Layout{"miopen_convolution", "xwbpsdg"},
    Layout{"mkldnn_convolution", "xwbpsdg"},
    Layout{"convolution", "xwbspdfog"},
    Layout{"attention_backward", "yQKVfffffffffff"},
    Layout{"attention_for_cpu_backward", "yQKVffffffff"},
    Layout{"attention", "QKVfffffff"},
    Layout{"cudnn_rnn", "xlff"},
    Layout{"miopen_rnn", "xlff"},
    Layout{"rnn_layer", "x12f"},
    Layout{"max_pool2d_with_indices_backward", "yxkspdfi"},
    Layout{"max_pool2d", "xkspdf"},
    Layout{"avg_pool2d_backward", "yxkspff"},
    Layout{"avg_pool2d", "xkspff"},
    Layout{"_foreach", "lls"},
    Layout{"_fused_", "lll"},
    Layout{"cat", "ls"},
    Layout{"embedding_dense_backward", "1ign"},
    Layout{"embedding", "1inn"},
    Layout{"index_select", "1ni"},
    Layout{"gather", "1nif"},
    Layout{"scatter_add", "1ni1"},
    Layout{"batch_norm", "xbbbbfff"},
    Layout{"layer_norm", "xs11n"},
    Layout{"addm", "bABnn"},
    Layout{"baddbmm", "bABnn"},
    Layout{"_scaled_mm", "AB1111nf"},
    Layout{"mm", "ABn"},
    Layout{"mv", "ABn"},
    Layout{"dot", "ABn"},
    Layout{"sum", "1sf"},
    Layout{"mean", "1sf"},
    Layout{"norm", "1nsf"},
    Layout{"", "123n"},
};

class MadeUpInputs {
 public:
  explicit MadeUpInputs(uint64_t seed) : random_(seed) {
    type_ = one_of<const char*>({"float", "c10::Half", "c10::BFloat16", "double", "long int"});
    batch_ = below(3) + 1, channels_ = 4 * (below(2) + 1), size_ = below(5) + 3;
    spatial_ = one_in(4) ? 1 : 2;
    base_.assign(static_cast<size_t>(below(4)), 0);
    for (int64_t& each : base_) each = below(4) + 1;
    is_batched_ = one_in(2);
    inner_ = below(5) + 1;
  }

  [[nodiscard]] OperatorInputs of(const char* letters) {
    for (; *letters != '\0'; ++letters) add(*letters);
    return OperatorInputs::parse("[" + sizes_ + "]", "[" + types_ + "]", "[" + strides_ + "]",
                                 has_values_ ? "[" + values_ + "]" : "");
  }

 private:
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }
  bool one_in(int64_t n) { return below(n) == 0; }
  template <typename T>
  T one_of(std::initializer_list<T> all) {
    return all.begin()[below(static_cast<int64_t>(all.size()))];
  }

  void add(char letter) {
    switch (letter) {
      case 'x':
        return tensor(image(batch_, channels_, size_));
      case 'y':
        return tensor(image(batch_, one_of<int64_t>({channels_, 8}), size_ - 1));
      case 'w': {
        const int64_t width = below(3) + 1;
        return tensor(image(8, one_of({channels_, channels_ / 2}), width));
      }
      case 'b':
        return one_in(3) ? nothing() : tensor({8});
      case 'k':
        return value(one_of<const char*>({"[2, 2]", "[3, 2]", "[1, 3]", "[2]"}));
      case 's':
        return value(
            one_of<const char*>({"[1, 1]", "[2, 2]", "[1]", "[2]", "[0]", "[-1]", "[]", "1"}));
      case 'p':
        return value(one_of<const char*>({"[0, 0]", "[1, 1]", "[1, 0]", "[0]"}));
      case 'd':
        return value(one_of<const char*>({"[1, 1]", "[2, 1]", "[1]"}));
      case 'o':
        return value(one_of<const char*>({"[0, 0]", "[1, 1]", "[0]"}));
      case 'g':
        return value(one_of<const char*>({"1", "2", "4", "0"}));
      case 'f':
        if (one_in(12)) return tensor({batch_, 2, size_, size_});
        if (one_in(16)) return tensor({batch_}, "int");
        return value(one_of<const char*>({"True", "False", "False", ""}));
      case 'm':
        return value(one_of<const char*>({"[True, True, False]", "[False, True, True]",
                                          "[True, False, False]", "[True, True]"}));
      case 'n':
        return value(one_of<const char*>({"0", "1", "-1", "2", "0.5"}));
      case 'Q':
        return tensor({batch_, 4, size_, 8});
      case 'K':
        return tensor({batch_, one_of<int64_t>({4, 4, 2, 3}), keys_, 8});
      case 'V':
        return tensor({batch_, 4, keys_, one_of<int64_t>({8, 16})});
      case 'A':
        return is_batched_ ? tensor({batch_, size_, inner_})
               : one_in(4) ? tensor({inner_})
                           : tensor({size_, inner_});
      case 'B':
        return is_batched_ ? tensor({batch_, inner_, channels_})
               : one_in(4) ? tensor({inner_})
                           : tensor({one_in(9) ? inner_ + 1 : inner_, channels_});
      case 'l':
        return list();
      case 'i':
        return tensor({batch_, size_}, "long int");
      case '?':
        return nothing();
      default:
        return operand();
    }
  }

  std::vector<int64_t> image(int64_t first, int64_t second, int64_t size) const {
    std::vector<int64_t> sizes = {first, second};
    sizes.insert(sizes.end(), spatial_, size);
    return sizes;
  }
  void operand() {
    std::vector<int64_t> sizes = base_;
    for (int64_t& each : sizes) each = one_in(4) ? 1 : each;
    if (!sizes.empty() && one_in(5)) sizes.erase(sizes.begin());
    if (one_in(8)) return value("2");
    tensor(sizes, one_in(5) ? "float" : type_);
  }
  void list() {
    std::string sizes;
    for (int64_t i = below(3) + 1; i > 0; --i) {
      sizes += fmt::format("{}[{}, {}]", sizes.empty() ? "" : ", ", size_, i + 1);
    }
    input("[" + sizes + "]", "TensorList", "[]", "");
  }
  void tensor(const std::vector<int64_t>& sizes, const char* type = nullptr) {
    std::string text, strides;
    for (const int64_t size : sizes) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", size);
      strides += fmt::format("{}{}", strides.empty() ? "" : ", ", one_in(9) ? 0 : 1);
    }
    input("[" + text + "]", type ? type : type_, "[" + strides + "]", "");
  }
  void value(const char* text) { input("[]", "Scalar", "[]", text); }
  void nothing() { input("[]", "", "[]", ""); }
  void input(const std::string& sizes, const char* type, const std::string& strides,
             const char* text) {
    const char* comma = sizes_.empty() ? "" : ", ";
    sizes_ += comma + sizes;
    types_ += fmt::format("{}\"{}\"", comma, type);
    strides_ += comma + strides;
    values_ += fmt::format("{}\"{}\"", comma, text);
  }

  std::mt19937_64 random_;
  const char* type_ = "float";
  int64_t batch_ = 1, channels_ = 4, size_ = 3, inner_ = 1, keys_ = 5;
  size_t spatial_ = 2;
  std::vector<int64_t> base_;
  bool is_batched_ = false, has_values_ = true;
  std::string sizes_, types_, strides_, values_;
};

/// What stands in the quotes behind `before` in a file of the sources.
std::vector<std::string> names_in(const char* file, const char* before) {
  const std::string text = read_file(redline::testing::source_dir() + "/trace/analysis/" + file);
  const std::regex name(std::string(before) + "\\{\\s*\"([^\"]+)\"");
  std::vector<std::string> names;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), name); at != std::sregex_iterator();
       ++at) {
    names.push_back((*at)[1]);
  }
  return names;
}

TEST(FormulaFigures, StayWhatTheyAre) {
  Sums sums;
  auto names = names_in("operator_formulas.cc", "Formula");
  names.insert(names.end(), {"triton_poi_fused_add_2", "aten::add_"});
  EXPECT_GT(names.size(), 150);
  for (const std::string& name : names) {
    const auto layout = std::find_if(kLayouts.begin(), kLayouts.end(), [&](const Layout& each) {
      return name.find(each.part_of_name) != std::string::npos;
    });
    for (uint64_t seed = 1; seed <= 60; ++seed) {
      const Formula* formula = find_formula(name);
      if (!formula) continue;  // "triton_" itself
      const OperatorWork work = work_of(*formula, MadeUpInputs(seed).of(layout->letters));
      const auto number = [](Count count) { return static_cast<double>(count.value_or(-1)); };
      sums.add(name, number(work.flops) + 3 * number(work.needed_flops) + 7 * number(work.bytes) +
                         11 * number(work.moved_elements) + 2 * static_cast<double>(work.type) +
                         (work.is_product ? 0.5 : 0));
    }
  }
  for (const std::string& name : names_in("device_peaks.cc", "Datasheet")) {
    DeviceProperties device;
    device.name = name + " of somebody";
    device.memory_bytes = int64_t{10} << 30;
    const DevicePeaks peaks = device_peaks(device);
    for (size_t i = 0; i < kPeakTypeCount; ++i) {
      sums.add(name, 1000 * peaks.tflops[i].value_or(-1) + static_cast<double>(i));
    }
    sums.add(name, peaks.gb_per_s.value_or(-1));
    sums.add(name, peaks.link_gb_per_s.value_or(-1));
    sums.add(name, peaks.source);
    device.multiprocessors = 1;
    sums.add(name, 1000 * device_peaks(device).of(PeakType::kFp32).value_or(-1));
    device.memory_bytes = int64_t{100} << 30;
    sums.add(name, device_peaks(device).gb_per_s.value_or(-1));
  }
  sums.expect_kept("trace/analysis/formula_figures.txt");
}

}  // namespace
}  // namespace redline::trace
