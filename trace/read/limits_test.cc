// The largest numbers that a trace may have, and what becomes of larger ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/parsed_trace.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

std::string slice(const std::string& members, const std::string& base = "0") {
  return fmt::format(R"({{"baseTimeNanoseconds": {}, "traceEvents": [{{"ph": "X", "name": "a",
                         "cat": "kernel", {}}}]}})",
                     base, members);
}

// The slice's times, and the names of the issues.
std::string times_of(const std::string& json) {
  const auto trace = parsed(json);
  if (!trace) return "no trace";
  std::string text;
  for (size_t i = 0; i < trace->slice_count(); ++i) {
    text += fmt::format("{} {}", trace->slices().begin_ns[i], trace->slices().end_ns[i]);
  }
  for (const auto& [name, count] : issues_of(*trace)) text += " " + name;
  return text;
}

TEST(Limits, ATimeIsLessThan74YearsFrom0) {
  for (const char* sign : {"", "-"}) {
    const auto at = [&](const std::string& ts) {
      return times_of(slice(fmt::format(R"("ts": {}{}, "dur": 0)", sign, ts)));
    };
    EXPECT_EQ(at("2305843009213693.951"), fmt::format("{0}{1} {0}{1}", sign, INT64_MAX / 4));
    EXPECT_EQ(at("2305843009213693.952"), " time_not_a_number");
    const auto based = [&](const std::string& base) {
      return times_of(slice(R"("ts": 0, "dur": 1)", sign + base));
    };
    const int64_t begin_ns = *sign == '-' ? -(INT64_MAX / 4) : INT64_MAX / 4;
    EXPECT_EQ(based("2305843009213693951"), fmt::format("{} {}", begin_ns, begin_ns + 1000));
    for (const char* larger : {"2305843009213693952", "9223372036854775808", "1e300"}) {
      EXPECT_EQ(based(larger), "0 1000 base_time_out_of_range") << larger;
    }
  }
  for (const char* no_number : {"null", R"("soon")", "[1]"}) {
    EXPECT_EQ(times_of(slice(R"("ts": 0, "dur": 1)", no_number)), "0 1000 base_time_out_of_range");
  }
  EXPECT_EQ(times_of(slice(R"("ts": 1, "dur": 2305843009213693.951)")),
            fmt::format("1000 {}", INT64_MAX / 4 + 1000));
  EXPECT_EQ(times_of(slice(R"("ts": 1, "dur": 2305843009213693.952)")), " time_not_a_number");
}

TEST(Limits, ACorrelationNumberHas32Bits) {
  const std::pair<const char*, uint32_t> rows[] = {{R"("correlation": 4294967295)", UINT32_MAX},
                                                   {R"("correlation": 4294967296)", 0},
                                                   {R"("correlation": -1)", 0},
                                                   {R"("correlation": "7")", 0},
                                                   {"\"correlation\" \n\r\t : 7", 7},
                                                   {R"("correlation": [])", 0},
                                                   {R"("x": {"correlation": 8})", 8},
                                                   {R"("correlation": 8.5)", 8},
                                                   {R"("correlations": 8)", 0},
                                                   {R"("correlation": 0)", 0}};
  for (const auto& [member, number] : rows) {
    const auto trace = parsed(slice(fmt::format(R"("ts": 1, "dur": 1, "args": {{{}}})", member)));
    EXPECT_EQ(trace->slices().correlation[0], number) << member;
  }
}

TEST(Limits, ARankIsANumberFrom0OnThatFits) {
  const std::pair<const char*, std::optional<int>> rows[] = {{"0", 0},
                                                             {"2147483647", INT32_MAX},
                                                             {"2147483648", std::nullopt},
                                                             {"4294967299", std::nullopt},
                                                             {"18446744069414584323", std::nullopt},
                                                             {"18446744073709551616", std::nullopt},
                                                             {"-1", std::nullopt},
                                                             {"-4294967293", std::nullopt},
                                                             {"3.0", std::nullopt},
                                                             {R"("3")", std::nullopt}};
  for (const auto& [number, rank] : rows) {
    const auto trace = parsed(fmt::format(
        R"({{"distributedInfo": {{"rank": {0}, "world_size": {0}}}, "traceEvents": []}})", number));
    ASSERT_TRUE(trace) << number;
    EXPECT_EQ(trace->metadata().rank, rank) << number;
    EXPECT_EQ(trace->metadata().world_size, rank) << number;
  }
}

TEST(Limits, AGpuHasTheNumberOfItsProcess) {
  struct {
    const char* pid;
    const char* tid;
    int32_t device;
    int64_t stream;
  } const rows[] = {
      {"2147483647", "7", INT32_MAX, 7},          {"2147483648", "\"stream 12\"", -1, 12},
      {"\"GPU 3\"", "\"default\"", 3, -1},        {"\"3 GPUs\"", "0", -1, 0},
      {"0", "9223372036854775807", 0, INT64_MAX}, {"0", "9223372036854775808", 0, -1}};
  for (const auto& [pid, tid, device, stream] : rows) {
    const auto trace =
        parsed(slice(fmt::format(R"("ts": 1, "dur": 1, "pid": {}, "tid": {})", pid, tid)));
    const Track& track = trace->tracks().front();
    EXPECT_EQ(track.device, device) << pid;
    EXPECT_EQ(track.stream, stream) << tid;
    EXPECT_EQ(track.sort_index, stream) << tid;
  }
}

}  // namespace
}  // namespace redline::trace
