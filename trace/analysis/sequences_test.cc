#include "trace/analysis/streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trace_text.h"
#include "trace/model/slice_class.h"
#include "trace/read/reader.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Adds a kernel for each letter, 10 ns long and 5 ns apart; '|' is a collective.
void add_stream(TraceText& text, const std::string& letters, int stream = 7) {
  int64_t at = 0;
  for (const char letter : letters) {
    const std::string name =
        letter == '|' ? "ncclDevKernel_AllReduce_RING_LL" : std::string(1, letter);
    text.kernel(name, at, at + 10, on_stream(stream));
    at += 15;
  }
}

// Each sequence as "names x count".
std::vector<std::string> sequences_of(const TraceText& text) {
  const auto trace = *parse_trace("test", text.str());
  std::vector<std::string> lines;
  for (const auto& sequence : kernel_sequences(find_device_work(*trace, NameKinds(*trace)))) {
    std::string names;
    for (const StringId name : sequence.names) names += trace->string(name);
    lines.push_back(fmt::format("{} x {}", names, sequence.count));
  }
  return lines;
}

std::vector<std::string> sequences_of(const std::string& letters) {
  TraceText text;
  add_stream(text, letters);
  return sequences_of(text);
}

TEST(Sequences, GrowToAllThatRepeats) {
  EXPECT_THAT(sequences_of("abcdeXabcdeYabcde"), ElementsAre("abcde x 3"));
  EXPECT_THAT(sequences_of("abcabcabcabc"), ElementsAre("abc x 4"));
  EXPECT_THAT(sequences_of("abcdefgh"), IsEmpty());
  EXPECT_THAT(sequences_of(""), IsEmpty());
}

TEST(Sequences, ShorterOnesThatRepeatMoreOftenAreKept) {
  // A step has two equal layers and a different end.
  EXPECT_THAT(sequences_of("klmklmzklmklmz"), ElementsAre("klmklmz x 2", "klm x 4"));
}

TEST(Sequences, OfOneKernelCountWithoutOverlap) {
  EXPECT_THAT(sequences_of("aaaaaaaaaX"), ::testing::Contains("aa x 4"));
}

TEST(Sequences, OfThousandsOfPairsAreFound) {
  const std::string names =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&()*+,-./:;<=>?@^_~";
  std::string letters;
  uint32_t at = 1;
  for (int i = 0; i < 4000; ++i) {
    at = at * 1664525 + 1013904223;
    letters += names[(at >> 16) % names.size()];
  }
  EXPECT_EQ(sequences_of(letters + "{" + letters).front(), letters + " x 2");
}

TEST(Sequences, GoNeitherOverCollectivesNorOverStreams) {
  EXPECT_THAT(sequences_of("ab|ab|ab"), ElementsAre("ab x 3"));
  TraceText text;
  add_stream(text, "xyab", 7);
  add_stream(text, "abpq", 8);
  add_stream(text, "xyabpq", 9);
  EXPECT_THAT(sequences_of(text),
              ::testing::UnorderedElementsAre("ab x 3", "xyab x 2", "abpq x 2"));
}

TEST(Sequences, TimesAreSumsOverOccurrences) {
  TraceText text;
  add_stream(text, "abcXabcYabc");
  const auto trace = *parse_trace("test", text.str());
  const auto found = kernel_sequences(find_device_work(*trace, NameKinds(*trace)));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].total_ns, 3 * 30);
  EXPECT_EQ(found[0].gap_ns, 3 * 10);
  EXPECT_EQ(found[0].mean_gap_ns(), 5);
  EXPECT_EQ(trace->string(trace->slices().name[found[0].first.value]), "a");
  EXPECT_EQ(trace->slices().begin_ns[found[0].first.value], 0);
}

// With programmatic dependent launch a kernel may begin before the one before it has ended.
TEST(Sequences, AStreamThatWorksIsNotIdle) {
  TraceText text;
  for (const int64_t at : {0, 1000}) {
    text.kernel("long", at, at + 100).kernel("short", at + 10, at + 20);
    text.kernel("last", at + 105, at + 110).kernel(fmt::format("only{}", at), at + 110, at + 120);
  }
  const auto trace = *parse_trace("test", text.str());
  const auto found = kernel_sequences(find_device_work(*trace, NameKinds(*trace)));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].names.size(), 3U);
  EXPECT_EQ(found[0].gap_ns, 2 * 5);
}

// A thousand steps of a hundred kernels have one sequence, the step.
TEST(Sequences, AWholeStep) {
  TraceText text;
  int64_t at = 0;
  for (int step = 0; step < 1000; ++step) {
    for (int i = 0; i < 100; ++i, at += 10) text.kernel(fmt::format("k{}", i), at, at + 8);
    text.kernel(fmt::format("only{}", step), at, at + 8);
    at += 10;
  }
  const auto trace = *parse_trace("test", text.str());
  const auto found = kernel_sequences(find_device_work(*trace, NameKinds(*trace)));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].names.size(), 100U);
  EXPECT_EQ(found[0].count, 1000);
}

}  // namespace
}  // namespace redline::trace
