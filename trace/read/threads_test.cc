// A trace is the same, however many threads read it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/trace_lines.h"
#include "trace/read/reader.h"

namespace redline::trace {
namespace {

using redline::testing::expect_equal;

/// All kinds of events on many rows, in an order that differs from piece to piece of the text.
std::string much_of_everything(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  std::string text = R"({"traceEvents": [)";
  for (uint32_t i = 0; i < 60'000; ++i) {
    const uint32_t piece = i / 6000, pid = below(3 + piece), thread = below(5 + piece);
    // Threads without a number stand in the order in which the text names them.
    const std::string tid = pid % 2 == 0
                                ? fmt::to_string(thread)
                                : fmt::format("\"{}\"", static_cast<char>('a' + 7 * thread % 26));
    const std::string place = fmt::format(R"("pid": {}, "tid": {}, "ts": {}.5)", pid, tid, i);
    const std::string name = fmt::format(R"("name": "event {} of piece {}")", below(9), piece);
    switch (below(9)) {
      case 0:
        text += fmt::format(R"({{"ph": "B", {}, {}}},)", place, name);
        break;
      case 1:
        text += fmt::format(R"({{"ph": "E", {}, {}}},)", place, name);
        break;
      case 2:
        text += fmt::format(R"({{"ph": "{}", {}, {}, "cat": "async", "id": {}}},)",
                            below(2) == 0 ? "b" : "e", place, name, below(20));
        break;
      case 3:
        text += fmt::format(R"({{"ph": "i", {}, {}, "s": "t"}},)", place, name);
        break;
      case 4:
        text += fmt::format(R"({{"ph": "C", {}, {}, "args": {{"v": {}}}}},)", place, name, i);
        break;
      case 5:  // an arrow's end lies at the begin of a slice
        text +=
            fmt::format(R"({{"ph": "X", "cat": "cpu_op", {0}, {1}, "dur": 1}},)"
                        R"({{"ph": "{2}", {0}, "name": "fwdbwd", "cat": "fwdbwd", "id": {3}}},)",
                        place, name, below(2) == 0 ? "s" : "f", below(4000));
        break;
      case 6:
        text += fmt::format(
            R"({{"ph": "M", {}, "name": "thread_name", "args": {{"name": "{}"}}}},)", place, i);
        break;
      default:
        text += fmt::format(R"({{"ph": "X", "cat": "cpu_op", {}, {}, "dur": {}}},)", place, name,
                            below(40));
    }
  }
  text.back() = ']';
  return text + "}";
}

TEST(Threads, HoweverManyReadATraceItIsTheSame) {
  const std::string text = much_of_everything(7);
  ASSERT_GT(text.size(), size_t{4} << 20) << "as many pieces as threads";
  ReadOptions alone;
  alone.threads = 1;
  const auto one = parse_trace("one", text, alone);
  ASSERT_TRUE(one);
  EXPECT_FALSE((*one)->flows().empty());
  for (const unsigned threads : {2U, 4U}) {
    ReadOptions together;
    together.threads = threads;
    const auto many = parse_trace("many", text, together);
    ASSERT_TRUE(many);
    expect_equal(**one, **many);
  }
}

}  // namespace
}  // namespace redline::trace
