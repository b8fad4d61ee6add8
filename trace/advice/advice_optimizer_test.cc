#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsed_trace.h"
#include "tests/small_steps.h"
#include "trace/advice/advice.h"
#include "trace/advice/testing_rules.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(AdviceOptimizer, AStallOfTheOptimizerIsNoWorkOfIt) {
  const auto steps = [](int64_t last_ns) {
    TraceText text;
    for (int step = 5; step < 8; ++step) {
      const int64_t begin_ns = step * 100 * kMs;
      text.step(step, begin_ns, begin_ns + 100 * kMs);
      text.annotation("Optimizer.step#AdamW.step", begin_ns,
                      begin_ns + (step < 7 ? 10 * kMs : last_ns));
      for (int i = 0; i < 100; ++i) {
        text.cpu_op("aten::mul_", begin_ns + i * kMs / 10, begin_ns + i * kMs / 10 + kMs / 20);
      }
    }
    return only(advice_on(text), "optimizer_per_parameter").headline;
  };
  EXPECT_EQ(steps(10 * kMs), "Optimizer: 10.0 ms a step, one tensor at a time");
  EXPECT_EQ(steps(70 * kMs), "Optimizer: 16.7 ms a step, one tensor at a time");
}

TEST(AdviceOptimizer, OptimizerPerParameter) {
  const auto optimizer = [](int operators, const char* name) {
    TraceText text = one_step().annotation("Optimizer.step#AdamW.step", 50 * kMs, 70 * kMs);
    for (int i = 0; i < operators; ++i) {
      text.cpu_op(name, 50 * kMs + i * 100'000, 50 * kMs + i * 100'000 + 90'000);
    }
    return text;
  };
  EXPECT_THAT(advice_on(optimizer(100, "aten::mul_")), HasRule("optimizer_per_parameter"));
  EXPECT_THAT(advice_on(optimizer(10, "aten::mul_")), Not(HasRule("optimizer_per_parameter")));
  EXPECT_THAT(advice_on(optimizer(100, "aten::_foreach_mul_")),
              Not(HasRule("optimizer_per_parameter")));
}

TEST(AdviceOptimizer, OptimizersAreToldWhatTheyCanDo) {
  const auto advice = [](const std::string& name, bool on_gpu = true) {
    TraceText text = one_step().annotation("Optimizer.step#" + name, 50 * kMs, 70 * kMs);
    for (int i = 0; i < 100; ++i) {
      text.cpu_op("aten::mul_", 50 * kMs + i * 100'000, 50 * kMs + i * 100'000 + 90'000);
    }
    if (on_gpu) text.kernel("relu_kernel", 10 * kMs, 20 * kMs);
    return advice_on(text);
  };
  const auto cure = [](const std::string& text, const std::string& knob) {
    return Contains(AllOf(Field(&Finding::rule, "optimizer_per_parameter"),
                          Field(&Finding::detail, HasSubstr(text)), Field(&Finding::knob, knob)));
  };
  EXPECT_THAT(advice("SGD.step"),
              cure("fused=True, or foreach=True", "optimizer=default,foreach,fused"));
  EXPECT_THAT(advice("RMSprop.step"),
              cure("give the optimizer foreach=True", "optimizer=default,foreach"));
  EXPECT_THAT(advice("Lion.step"), cure("torch._foreach_add_ and its like in Lion", ""));
  for (const char* name : {"LBFGS.step", "Muon.step"})
    EXPECT_THAT(advice(name), Not(HasRule("optimizer_per_parameter"))) << name;
  // On a CPU foreach saves no launches (docs/guide/optimizers.md has the figures).
  EXPECT_THAT(advice("SGD.step", false),
              cure("give the optimizer fused=True", "optimizer=default,fused"));
  EXPECT_THAT(advice("RMSprop.step", false), Not(HasRule("optimizer_per_parameter")));
}

// No call takes the products of many tensors. Those of Adafactor tell whose it is, too.
TEST(AdviceOptimizer, ProductsOfAnOptimizerStay) {
  const auto finding = [](const char* other) {
    TraceText text = one_step().annotation("Optimizer.step#Adafactor.step", 50 * kMs, 70 * kMs);
    for (int i = 0; i < 100; ++i) {
      const int64_t at_ns = 50 * kMs + i * 200 * kUs;
      text.cpu_op("aten::mul_", at_ns, at_ns + 90 * kUs);
      text.cpu_op(other, at_ns + 100 * kUs, at_ns + 190 * kUs);
    }
    text.runtime("cudaLaunchKernel", 50 * kMs + 110 * kUs, 50 * kMs + 112 * kUs, 5)
        .kernel("k", 80 * kMs, 90 * kMs, on_stream(7, 5));
    return only(advice_on(text), "optimizer_per_parameter");
  };
  const Finding ours = finding("aten::matmul"), theirs = finding("aten::add_");
  EXPECT_EQ(ours.headline, "Optimizer: 11.0 ms a step, one tensor at a time");
  EXPECT_EQ(ours.detail, "100 operators a step, 11.0 % of it: give the optimizer foreach=True");
  EXPECT_EQ(ours.knob, "optimizer=default,foreach");
  EXPECT_EQ(theirs.headline, "Optimizer: 30.0 ms a step, one tensor at a time");
  EXPECT_EQ(theirs.detail,
            "200 operators a step, 30.0 % of it: torch.optim.Adafactor takes foreach=True, "
            "transformers' and timm's do not");
  EXPECT_EQ(theirs.knob, "");
}

TEST(AdviceOptimizer, WhatAClosureDoesIsNoUpdate) {
  const auto with_closure = [](int updates) {
    TraceText text = one_step().annotation("Optimizer.step#AdamW.step", 0, 90 * kMs);
    for (int i = 0; i < 100; ++i) {
      const int64_t begin_ns = i * 400'000;
      text.cpu_op("aten::linear", begin_ns, begin_ns + 390'000, {.args = "\"Sequence number\": 7"});
    }
    text.cpu_op("AddmmBackward0", 40 * kMs, 70 * kMs);
    for (int i = 0; i < updates; ++i) {
      text.cpu_op("aten::mul_", 70 * kMs + i * 100'000, 70 * kMs + i * 100'000 + 90'000);
    }
    return text;
  };
  EXPECT_THAT(advice_on(with_closure(10)), Not(HasRule("optimizer_per_parameter")));
  const auto findings = advice_on(with_closure(100));
  EXPECT_THAT(findings,
              Contains(AllOf(Field(&Finding::rule, "optimizer_per_parameter"),
                             Field(&Finding::headline, HasSubstr("20.0 ms a step")),
                             Field(&Finding::detail, HasSubstr("100 operators a step")))));
}

TEST(AdviceOptimizer, OnlyTheExposedPartOfTheOptimizerCanBeWon) {
  const auto optimizer = [](int64_t kernel_ns) {
    TraceText text =
        gpu_step(kernel_ns).annotation("Optimizer.step#AdamW.step", 50 * kMs, 70 * kMs);
    for (int i = 0; i < 100; ++i) {
      text.cpu_op("aten::mul_", 50 * kMs + i * 200 * kUs, 50 * kMs + i * 200 * kUs + 190 * kUs);
    }
    return text;
  };
  EXPECT_NEAR(*only(advice_on(optimizer(60 * kMs)), "optimizer_per_parameter").estimated_speedup,
              100 / 90.0, 0.001);
  EXPECT_THAT(advice_on(optimizer(99 * kMs)), Not(HasRule("optimizer_per_parameter")));
}

}  // namespace
}  // namespace redline::trace
