#include "trace/analysis/operator_formulas.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace redline::trace {
namespace {

struct FormulaCase {
  const char* what;
  std::string name, sizes, types, values;
  Count flops, bytes;
  Count needed = std::nullopt;  ///< nullopt: like `flops`
};

OperatorWork work_of_case(const FormulaCase& each, const std::string& strides = "") {
  const Formula* formula = find_formula(each.name);
  if (!formula) return {};
  return work_of(*formula, OperatorInputs::parse(each.sizes, each.types, strides, each.values));
}

void expect_all(const std::vector<FormulaCase>& cases) {
  for (const FormulaCase& each : cases) {
    SCOPED_TRACE(each.name + ": " + each.what);
    const OperatorWork found = work_of_case(each);
    EXPECT_EQ(found.flops, each.flops);
    EXPECT_EQ(found.bytes, each.bytes);
    EXPECT_EQ(found.needed_flops, each.needed ? each.needed : each.flops);
  }
}

TEST(OperatorFormulas, Products) {
  expect_all({
      {"2 m n k", "aten::mm", "[[2, 3], [3, 5]]", R"(["float", "float"])", R"(["", ""])", 60, 124},
      {"the bias is read", "aten::addmm", "[[5], [2, 3], [3, 5], [], []]",
       R"(["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar"])",
       R"(["", "", "", "1", "1"])", 60, 72},
      {"batches", "aten::bmm", "[[4, 2, 3], [4, 3, 5]]", R"(["double", "double"])", "", 240, 992},
      {"inner sizes differ", "aten::mm", "[[2, 3], [4, 5]]", R"(["float", "float"])", "", {}, {}},
      {"too large for 64 bits",
       "aten::mm",
       "[[4294967296, 4294967296], [4294967296, 4294967296]]",
       R"(["float", "float"])",
       "",
       {},
       {}},
      {"a size that is no number",
       "aten::mm",
       R"([["a", 3], [3, 5]])",
       R"(["float", "float"])",
       "",
       {},
       {}},
      {"a result of 16 bits", "aten::_scaled_mm", "[[2, 16], [16, 4], [], [], [], [], [], []]",
       R"(["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", "", "", "Scalar", "Scalar"])",
       R"(["", "", "", "", "", "", "15", "True"])", 256, 32 + 64 + 16},
      {"a vector", "aten::mv", "[[2, 3], [3]]", R"(["float", "float"])", "", 12, 44},
  });
}

// Three places in a sequence of two samples, of 4 features, into 5: four gates.
TEST(OperatorFormulas, RecurrentLayers) {
  const std::string layer = "[[3, 2, 4], [20, 4], [20, 5], [20], [20], [2, 5], [2, 5]]";
  const std::string types = R"(["float", "float", "float", "float", "float", "float", "float"])";
  expect_all({
      {"both weights at each place", "aten::mkldnn_rnn_layer", layer, types, "", 2 * 6 * 180, 816},
      {"twice in backward", "aten::mkldnn_rnn_layer_backward", layer, types, "", 4 * 6 * 180, 1632},
      {"weights of all layers", "aten::_cudnn_rnn",
       "[[3, 2, 4], [[20, 4], [20, 5], [20], [20]], []]", R"(["float", "TensorList", "Scalar"])",
       "", 2 * 6 * 180, 816},
      {"no weights",
       "aten::_cudnn_rnn",
       "[[3, 2, 4], []]",
       R"(["float", "TensorList"])",
       "",
       {},
       {}},
  });
}

TEST(OperatorFormulas, Convolutions) {
  const std::string types =
      R"(["float", "float", "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"])";
  const auto sizes = [](const std::string& input, const std::string& weight) {
    return "[" + input + ", " + weight + ", [], [], [], [], [], [], []]";
  };
  const auto values = [](const std::string& stride, const std::string& padding,
                         const char* transposed, const char* groups) {
    return R"(["", "", "", ")" + stride + R"(", ")" + padding + R"(", "[1, 1]", ")" + transposed +
           R"(", "[0, 0]", ")" + groups + R"("])";
  };
  expect_all({
      // 16 x 16 with a border of 1 and a 3 x 3 filter stays 16 x 16; a stride of 2 makes it 8 x 8.
      {"padded", "aten::convolution", sizes("[2, 3, 16, 16]", "[8, 3, 3, 3]"), types,
       values("[1, 1]", "[1, 1]", "False", "1"), 2LL * 2 * 256 * 8 * 27,
       4LL * (2 * 3 * 256 + 8 * 27 + 2 * 8 * 256)},
      {"strided", "aten::convolution", sizes("[2, 3, 16, 16]", "[8, 3, 3, 3]"), types,
       values("[2, 2]", "[1, 1]", "False", "1"), 2LL * 2 * 64 * 8 * 27,
       4LL * (2 * 3 * 256 + 8 * 27 + 2 * 8 * 64)},
      {"depthwise", "aten::convolution", sizes("[1, 8, 4, 4]", "[8, 1, 3, 3]"), types,
       values("[1, 1]", "[1, 1]", "False", "8"), 2LL * 16 * 8 * 9, 4LL * (128 + 72 + 128)},
      // Transposed: every input position meets every number of the filter.
      {"transposed", "aten::convolution", sizes("[1, 4, 5, 5]", "[4, 6, 2, 2]"), types,
       values("[2, 2]", "[0, 0]", "True", "1"), 2LL * 25 * 4 * 6 * 4, 4LL * (100 + 96 + 6 * 100)},
      {"no values in old traces",
       "aten::convolution",
       sizes("[2, 3, 16, 16]", "[8, 3, 3, 3]"),
       types,
       "",
       {},
       {}},
      {"a stride of 0",
       "aten::convolution",
       sizes("[2, 3, 16, 16]", "[8, 3, 3, 3]"),
       types,
       values("[0, 0]", "[1, 1]", "False", "1"),
       {},
       {}},
  });
}

TEST(OperatorFormulas, WeightsAreWhatALargerBatchLeavesAsItIs) {
  struct Case {
    const char* what;
    const char* name;
    std::string sizes, strides, values;
    int64_t weight_bytes;
  };
  const std::string of_convolution =
      R"(["", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"])";
  const auto backward = [](const char* mask) {
    return std::string(
               R"(["", "", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1", ")") +
           mask + R"("])";
  };
  const std::string of_backward =
      "[[2, 8, 4, 4], [2, 3, 4, 4], [8, 3, 1, 1], [], [], [], [], [], [], [], []]";
  const std::vector<Case> cases = {
      {"the right operand", "aten::mm", "[[2, 3], [3, 5]]", "[[3, 1], [1, 3]]", "", 60},
      {"of one input", "aten::mm", "[[2, 1], [1, 5]]", "[[1, 1], [5, 1]]", "", 20},
      {"a gradient of weights", "aten::mm", "[[2, 3], [3, 5]]", "[[1, 2], [5, 1]]", "", 40},
      {"a gradient of one output", "aten::mm", "[[1, 3], [3, 5]]", "[[1, 1], [5, 1]]", "", 20},
      {"a gradient of one sample", "aten::mm", "[[6, 1], [1, 5]]", "[[1, 6], [5, 1]]", "", 120},
      {"one of both", "aten::mm", "[[2, 3], [3, 5]]", "", "", 40},
      {"expanded", "aten::mm", "[[2, 3], [3, 5]]", "[[0, 0], [5, 1]]", "", 40},
      {"with a bias", "aten::addmm", "[[5], [2, 3], [3, 5], [], []]", "", "", 60},
      {"a vector", "aten::mv", "[[2, 3], [3]]", "", "", 24},
      {"two vectors", "aten::dot", "[[3], [3]]", "", "", 0},
      {"batches", "aten::bmm", "[[4, 2, 3], [4, 3, 5]]", "", "", 0},
      {"a filter", "aten::convolution", "[[2, 3, 4, 4], [8, 3, 1, 1], [], [], [], [], [], [], []]",
       "", of_convolution, 96},
      {"twice in backward", "aten::convolution_backward", of_backward, "",
       backward("[True, True, False]"), 192},
      {"once for the input", "aten::convolution_backward", of_backward, "",
       backward("[True, False, False]"), 96},
      {"once for the filter", "aten::convolution_backward", of_backward, "",
       backward("[False, True, False]"), 96},
      {"of a layer", "aten::mkldnn_rnn_layer",
       "[[3, 2, 4], [20, 4], [20, 5], [20], [20], [2, 5], [2, 5]]", "", "", 720},
      {"twice in a layer's backward", "aten::mkldnn_rnn_layer_backward",
       "[[3, 2, 4], [20, 4], [20, 5], [20], [20], [2, 5], [2, 5]]", "", "", 1440},
      {"the gradient of a table", "aten::embedding_dense_backward",
       "[[2, 3, 4], [2, 3], [], [], []]", "", R"(["", "", "10", "-1", "False"])", 160},
  };
  const std::string floats =
      R"(["float", "float", "float", "float", "float", "float", "float", "", "", "", ""])";
  for (const Case& each : cases) {
    const FormulaCase formula{each.what, each.name, each.sizes, floats, each.values, {}, {}};
    EXPECT_EQ(work_of_case(formula, each.strides).weight_bytes, each.weight_bytes)
        << each.name << ": " << each.what;
  }
}

TEST(OperatorFormulas, ConvolutionBackwardCountsOnlyWhatTheMaskAsksFor) {
  const auto backward = [](const char* mask, const char* groups) {
    return FormulaCase{
        "",
        "aten::convolution_backward",
        "[[2, 8, 16, 16], [2, 8, 16, 16], [8, 8, 3, 3], [], [], [], [], [], [], [], []]",
        R"(["float", "float", "float", "", "", "", "", "", "", "", ""])",
        std::string(R"(["", "", "", "[0]", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", ")") +
            groups + R"(", ")" + mask + R"("])",
        {},
        {}};
  };
  const int64_t one = 2LL * 2 * 256 * 8 * 8 * 9;
  EXPECT_EQ(work_of_case(backward("[True, True, False]", "1")).flops, 2 * one);
  EXPECT_EQ(work_of_case(backward("[False, True, False]", "1")).flops, one);
  EXPECT_EQ(work_of_case(backward("[True, False, False]", "1")).flops, one);
  // flop_counter takes all pairs of channels for the weights, the kernel those of a group.
  const OperatorWork grouped = work_of_case(backward("[False, True, False]", "4"));
  EXPECT_EQ(grouped.flops, one);
  EXPECT_EQ(grouped.needed_flops, one / 4);
}

TEST(OperatorFormulas, Attention) {
  const auto sizes = [](const std::string& query, const std::string& key) {
    return "[" + query + ", " + key + ", " + key + ", [], [], [], []]";
  };
  const std::string types =
      R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar", "Scalar", "Scalar"])";
  const auto values = [](const char* causal) {
    return std::string(R"(["", "", "", "0.", ")") + causal + R"(", "False", "0.125"])";
  };
  const char* name = "aten::_scaled_dot_product_flash_attention";
  const int64_t full = 2LL * 2 * 8 * 100 * 100 * (64 + 64);
  expect_all({
      {"full", name, sizes("[2, 8, 100, 64]", "[2, 8, 100, 64]"), types, values("False"), full,
       2LL * 4 * 2 * 8 * 100 * 64},
      {"a causal mask leaves 5,050 of 10,000 scores", name,
       sizes("[2, 8, 100, 64]", "[2, 8, 100, 64]"), types, values("True"), full,
       2LL * 4 * 2 * 8 * 100 * 64, full / 10000 * 5050},
      {"grouped queries", name, sizes("[2, 8, 100, 64]", "[2, 2, 100, 64]"), types, values("False"),
       full, 2LL * (2 * 2 * 8 + 2 * 2 * 2) * 100 * 64},
      {"more queries than keys", name, sizes("[1, 1, 10, 8]", "[1, 1, 4, 8]"), types,
       values("True"), 2LL * 40 * 16, 2LL * (2 * 10 + 2 * 4) * 8, 2LL * (10 + 24) * 16},
      {"heads that do not divide",
       name,
       sizes("[2, 8, 100, 64]", "[2, 3, 100, 64]"),
       types,
       values("False"),
       {},
       {}},
      {"nested tensors have no sizes", name, sizes("[]", "[]"), types, values("False"), {}, {}},
      {"lengths only in a tensor",
       "aten::_flash_attention_forward",
       "[[300, 8, 64], [300, 8, 64], [300, 8, 64], [4], [4], [], []]",
       R"(["c10::Half", "c10::Half", "c10::Half", "int", "int", "Scalar", "Scalar"])",
       R"(["", "", "", "", "", "100", "100"])",
       {},
       {}},
      {"heads behind positions", "aten::_flash_attention_forward",
       "[[2, 100, 8, 64], [2, 100, 8, 64], [2, 100, 8, 64], [], [], [], [], [], []]",
       R"(["c10::Half", "c10::Half", "c10::Half", "", "", "Scalar", "Scalar", "Scalar", "Scalar"])",
       R"(["", "", "", "", "", "100", "100", "0.", "False"])", full, 2LL * 4 * 2 * 8 * 100 * 64},
  });
}

// The memory-efficient attention, called by itself, numbers its masks: 1 lets the first query see
// the first key, 2 the last query the last key.
TEST(OperatorFormulas, CausalAttentionByCustomMaskType) {
  const auto forward = [](const char* query, const char* mask) {
    return FormulaCase{
        mask,
        "aten::_efficient_attention_forward",
        fmt::format("[{}, [2, 10, 8, 64], [2, 10, 8, 64], [], [], [], [], [], [], [], []]", query),
        R"(["c10::Half", "c10::Half", "c10::Half", "", "", "", "Scalar", "Scalar", "Scalar", )"
        R"("Scalar", "Scalar"])",
        fmt::format(R"(["", "", "", "", "", "", "10", "10", "0.", "{}", "True"])", mask),
        {},
        {}};
  };
  const auto backward = [](const char* mask) {
    const std::string sizes = "[2, 10, 8, 64]";
    return FormulaCase{
        mask,
        "aten::_efficient_attention_backward",
        fmt::format("[{0}, {0}, {0}, {0}, [], {0}, [], [], [], [], [2, 8, 10], [], [], [], [], []]",
                    sizes),
        R"(["c10::Half", "c10::Half", "c10::Half", "c10::Half", "", "c10::Half", "", "", "Scalar", )"
        R"("Scalar", "float", "Scalar", "long int", "long int", "Scalar", "Scalar"])",
        fmt::format(
            R"(["", "", "", "", "", "", "", "", "10", "10", "", "0.", "", "", "{}", "False"])",
            mask),
        {},
        {}};
  };
  const auto needed = [](const FormulaCase& each) { return work_of_case(each).needed_flops; };
  constexpr int64_t kPair = 2LL * 2 * 8 * (64 + 64), kBackwardPair = 2LL * 2 * 8 * 5 * 64;
  const char* square = "[2, 10, 8, 64]";
  EXPECT_EQ(needed(forward(square, "0")), 100 * kPair);
  EXPECT_EQ(needed(forward(square, "1")), 55 * kPair);
  EXPECT_EQ(needed(forward(square, "2")), 55 * kPair);
  EXPECT_EQ(needed(forward("[2, 2, 8, 64]", "1")), (1 + 2) * kPair);
  EXPECT_EQ(needed(forward("[2, 2, 8, 64]", "2")), (9 + 10) * kPair);
  EXPECT_EQ(work_of_case(forward(square, "1")).flops, 100 * kPair);
  EXPECT_EQ(needed(backward("0")), 100 * kBackwardPair);
  EXPECT_EQ(needed(backward("1")), 55 * kBackwardPair);
}

TEST(OperatorFormulas, ElementsAndReductions) {
  expect_all({
      {"broadcast", "aten::add", "[[4, 1, 8], [3, 8], []]", R"(["float", "float", "Scalar"])",
       R"(["", "", "1"])", 96, 4LL * (32 + 24 + 96)},
      {"in place", "aten::mul_", "[[4, 8], []]", R"(["float", "Scalar"])", R"(["", "2"])", 32, 256},
      {"sizes that do not fit",
       "aten::add",
       "[[4], [3], []]",
       R"(["float", "float", "Scalar"])",
       "",
       {},
       {}},
      {"a tensor without dimensions keeps the type", "aten::mul", "[[10], [], [10]]",
       R"(["c10::BFloat16", "double", "c10::BFloat16"])", "", 10, 20 + 8 + 20},
      {"its second tensor stands last", "aten::elu_backward", "[[10], [], [], [], [], [10]]",
       R"(["float", "Scalar", "Scalar", "Scalar", "Scalar", "float"])", "", 10, 120},
      {"a flag an element", "aten::eq", "[[10], []]", R"(["long int", "Scalar"])", "", 10, 90},
      {"two types", "aten::add", "[[10], [10], []]", R"(["c10::BFloat16", "float", "Scalar"])", "",
       10, 20 + 40 + 40},
      {"converts", "aten::copy_", "[[10], [10], []]", R"(["c10::BFloat16", "float", "Scalar"])", "",
       0, 60},
      {"all", "aten::sum", "[[4, 8], []]", R"(["float", ""])", R"(["", ""])", 32, 132},
      {"one dimension, from behind", "aten::mean", "[[4, 8], [], [], []]",
       R"(["float", "ScalarList", "Scalar", ""])", R"(["", "[-1]", "True", ""])", 32, 128 + 16},
      {"dimensions not recorded",
       "aten::mean",
       "[[4, 8], [], [], []]",
       R"(["float", "GenericList", "Bool", ""])",
       "",
       32,
       {}},
      {"rows of a table", "aten::embedding", "[[1000, 16], [2, 3], [], [], []]",
       R"(["float", "long int", "Scalar", "Scalar", "Scalar"])", "", 0, 48 + 2 * 6 * 64},
      {"lists have no types",
       "aten::_foreach_add_",
       "[[[4, 8], [2]], [[4, 8], [2]], []]",
       R"(["TensorList", "TensorList", "Scalar"])",
       "",
       34,
       {}},
      {"a list that was too long",
       "aten::cat",
       "[[], []]",
       R"(["TensorList", "Scalar"])",
       "",
       {},
       {}},
      {"normalised", "aten::native_layer_norm", "[[4, 8], [], [8], [8], []]",
       R"(["float", "ScalarList", "float", "float", "Scalar"])", "", 160, 4LL * (32 + 8 + 8 + 32)},
      {"pooled", "aten::max_pool2d_with_indices", "[[1, 2, 8, 8], [], [], [], [], []]",
       R"(["float", "", "", "", "", ""])",
       R"(["", "[2, 2]", "[2, 2]", "[0, 0]", "[1, 1]", "False"])", 128, 512 + 32 * 12},
      {"pooled without dilation", "aten::avg_pool2d", "[[1, 2, 8, 8], [], [], [], [], [], []]",
       R"(["float", "", "", "", "", "", ""])",
       R"(["", "[2, 2]", "[2, 2]", "[0, 0]", "False", "True", ""])", 128, 512 + 32 * 4},
      {"gradient and indices are read, the input's size is written",
       "aten::max_pool2d_with_indices_backward",
       "[[1, 2, 4, 4], [1, 2, 8, 8], [], [], [], [], [], [1, 2, 4, 4]]",
       R"(["float", "float", "", "", "", "", "", "long int"])", "", 32, 32 * 4 + 32 * 8 + 128 * 4},
      {"elements of a table", "aten::gather", "[[1000, 16], [], [2, 3], []]",
       R"(["float", "Scalar", "long int", "Scalar"])", "", 0, 6 * 8 + 2 * 6 * 4},
      {"rows are added", "aten::scatter_add_", "[[1000, 16], [], [2, 3], [2, 3]]",
       R"(["float", "Scalar", "long int", "float"])", "", 6, 6 * 8 + 3 * 6 * 4},
      {"a fused kernel",
       "triton_poi_fused_add_mul_0",
       "[[4, 8], [4, 8], [4, 8], []]",
       R"(["float", "float", "float", "Scalar"])",
       "",
       {},
       3 * 128},
  });
  for (const char* unknown : {"triton_tem_fused_mm_1", "triton_poi_fused_embedding_0", "triton_"}) {
    EXPECT_EQ(find_formula(unknown), nullptr) << unknown;
  }
  EXPECT_EQ(find_formula("aten::nothing_of_the_kind"), nullptr);
  EXPECT_EQ(find_formula("_"), nullptr);
}

std::vector<std::string> words(const char* text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// Each operator gets five tensors of six floats. It reads as many of them as native_functions.yaml
// gives it inputs.
TEST(OperatorFormulas, ElementWiseOperatorsReadTheirInputsAndWriteOneResult) {
  struct Group {
    int64_t inputs, operations, result_bytes;
    const char* names;
  };
  constexpr std::array kGroups = {
      Group{1, 1, 4,
            "abs neg exp expm1 log log1p log2 sqrt rsqrt reciprocal square sin cos erf tanh "
            "sigmoid relu silu gelu elu mish leaky_relu softplus hardtanh hardswish hardsigmoid "
            "floor ceil round sign nan_to_num threshold bitwise_not"},
      Group{1, 1, 1, "logical_not isnan isinf"},
      Group{2, 1, 4,
            "clamp_min clamp_max add sub rsub mul div pow fmod remainder maximum minimum "
            "masked_fill bitwise_and bitwise_or threshold_backward silu_backward gelu_backward "
            "leaky_relu_backward hardtanh_backward hardswish_backward softplus_backward"},
      Group{2, 1, 1, "eq ne lt le gt ge logical_and logical_or"},
      Group{2, 2, 4, "native_dropout_backward"},
      Group{2, 3, 4, "sigmoid_backward tanh_backward"},
      Group{3, 1, 4, "clamp where"},
      Group{3, 3, 4, "lerp addcmul addcdiv mse_loss_backward"},
  };
  for (const Group& group : kGroups) {
    for (const std::string& name : words(group.names)) {
      SCOPED_TRACE(name);
      const OperatorWork work = work_of_case({"",
                                              "aten::" + name,
                                              "[[6], [6], [6], [6], [6]]",
                                              R"(["float", "float", "float", "float", "float"])",
                                              "",
                                              {},
                                              {}});
      EXPECT_EQ(work.flops, 6 * group.operations);
      EXPECT_EQ(work.bytes, 6 * (4 * group.inputs + group.result_bytes));
    }
  }
}

// Lists are recorded without types. Of their tensors all elements count.
TEST(OperatorFormulas, ListsCountTheStepsOfAnUpdate) {
  const std::map<int64_t, const char*> groups = {
      {0, "_foreach_zero_ _foreach_copy_"},
      {1, "_foreach_add _foreach_sub _foreach_mul _foreach_div _foreach_neg _foreach_sqrt"},
      {2, "_foreach_norm"},
      {3, "_foreach_lerp _foreach_addcmul _foreach_addcdiv"},
      {4, "_fused_sgd_"},
      {12, "_fused_adam_"},
      {13, "_fused_adamw_"}};
  for (const auto& [steps, names] : groups) {
    for (const std::string& name : words(names)) {
      const OperatorWork work = work_of_case({"",
                                              "aten::" + name,
                                              "[[[4, 8], [2]], [[4, 8], [2]]]",
                                              R"(["TensorList", "TensorList"])",
                                              "",
                                              {},
                                              {}});
      EXPECT_EQ(work.flops, 34 * steps) << name;
    }
  }
}

TEST(OperatorFormulas, ExpandedDimensionsAreInMemoryOnce) {
  const FormulaCase expanded{
      "", "aten::add", "[[4, 8], [4, 8], []]", R"(["float", "float", "Scalar"])", "", {}, {}};
  EXPECT_EQ(work_of_case(expanded, "[[8, 1], [0, 1], []]").bytes, 4 * (32 + 8 + 32));
  EXPECT_EQ(work_of_case(expanded, "[[8, 1], [8, 1], []]").bytes, 4 * 96);
}

}  // namespace
}  // namespace redline::trace
