#include "profiler/write/native_stack.h"

#include <execinfo.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "profiler/source/source.h"
#include "tests/recording.h"

namespace {

using redline::profiler::TextId;
using ::testing::HasSubstr;

// A sanitizer replaces backtrace() by a function that has a frame, too.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kOfSanitizer = 1;
#else
constexpr size_t kOfSanitizer = 0;
#endif

/// Captures a stack as the LibTorch adapter does, but without LibTorch.
[[gnu::noinline]] TextId capture() {
  void* addresses[64];
  const auto size = static_cast<size_t>(backtrace(addresses, 64)) - kOfSanitizer;
  return redline::profiler::intern_args(
      {reinterpret_cast<const char*>(addresses + kOfSanitizer), size * sizeof(void*)});
}

/// These functions are local to this file, so their names are only in .symtab.
[[gnu::noinline]] TextId inner_function() {
  const TextId stack = capture();
  asm volatile("" ::: "memory");  // no tail call
  return stack;
}

[[gnu::noinline]] TextId outer_function() {
  const TextId stack = inner_function();
  asm volatile("" ::: "memory");
  return stack;
}

/// The "args" of two operators: one that `stack` belongs to, and one before which the operator of
/// the stack was dropped.
std::pair<nlohmann::json, nlohmann::json> args_with(TextId stack) {
  namespace profiler = redline::profiler;
  const int64_t now_ns = redline::monotonic_ns();
  profiler::Record of_first;
  of_first.kind = profiler::RecordKind::kStack;
  of_first.begin_ns = now_ns;
  of_first.of.op.args = stack;
  profiler::submit(of_first);
  for (const int64_t begin_ns : {now_ns, now_ns + 1}) {
    profiler::submit({.begin_ns = begin_ns, .name = profiler::intern_name("operator")});
  }
  const auto trace = redline::testing::end_recording();
  return {trace["traceEvents"][0]["args"], trace["traceEvents"][1]["args"]};
}

class NativeStack : public ::testing::Test {
 protected:
  NativeStack() { redline::testing::begin_recording(); }
  ~NativeStack() override { redline_discard(); }
};

TEST_F(NativeStack, NamesTheCallersInnermostFirst) {
  const auto [with_stack, without] = args_with(outer_function());
  const std::string stack = with_stack["Call stack"];
  EXPECT_THAT(stack, ::testing::StartsWith("(anonymous namespace)::capture();"
                                           "(anonymous namespace)::inner_function();"
                                           "(anonymous namespace)::outer_function();"));
  EXPECT_THAT(stack, HasSubstr(";main;"));
  EXPECT_FALSE(without.contains("Call stack"));
}

TEST_F(NativeStack, LeavesOutHowItWasTaken) {
  const auto of_recorder = reinterpret_cast<uintptr_t>(&redline::profiler::is_recording);
  const auto of_program = reinterpret_cast<uintptr_t>(&outer_function);
  const uintptr_t addresses[] = {of_recorder + 1, of_program + 1, of_recorder + 1};
  const auto [args, without] = args_with(redline::profiler::intern_args(
      {reinterpret_cast<const char*>(addresses), sizeof(addresses)}));
  EXPECT_EQ(args["Call stack"],
            "(anonymous namespace)::outer_function();redline::profiler::is_recording();");
}

TEST_F(NativeStack, WhatHasNoNameIsItsPlace) {
  const auto unmapped = reinterpret_cast<const void*>(uintptr_t{16});
  const auto [args, without] = args_with(
      redline::profiler::intern_args({reinterpret_cast<const char*>(&unmapped), sizeof(unmapped)}));
  EXPECT_EQ(args["Call stack"], "(unknown);");
}

}  // namespace
