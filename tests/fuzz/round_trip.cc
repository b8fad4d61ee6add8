// Makes events of the fields that matter, with values that are likely to break something. The trace
// that the reader makes of them is written again; the result must be strict JSON and read equal.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <string>

#include "tests/fuzz/check_trace.h"
#include "trace/read/reader.h"

namespace redline::fuzz {
namespace {

constexpr std::string_view kKeys[] = {"ph",  "cat", "name", "pid", "tid", "ts",
                                      "dur", "id",  "args", "s",   "x"};
constexpr std::string_view kValues[] = {R"("X")",
                                        R"("B")",
                                        R"("E")",
                                        R"("b")",
                                        R"("e")",
                                        R"("n")",
                                        R"("s")",
                                        R"("f")",
                                        R"("t")",
                                        R"("i")",
                                        R"("C")",
                                        R"("M")",
                                        "0",
                                        "1",
                                        "2",
                                        "1.5",
                                        "7.001",
                                        "3",
                                        "-1",
                                        "1e3",
                                        R"("4")",
                                        "9223372036854775807",
                                        "18446744073709551616",
                                        "NaN",
                                        "Infinity",
                                        "null",
                                        "true",
                                        "\"\"",
                                        R"("a")",
                                        R"("kernel")",
                                        R"("cuda_runtime")",
                                        R"("cpu_op")",
                                        R"("fwdbwd")",
                                        R"("ac2g")",
                                        R"("process_name")",
                                        R"("thread_sort_index")",
                                        R"({"correlation": 5})",
                                        R"({"name": "row"})",
                                        R"({"sort_index": -3})",
                                        R"({"a": 1.5, "b": 2})",
                                        "{}",
                                        "[]",
                                        R"("\ud800")",
                                        R"("\u0000")",
                                        "\"\xff\"",
                                        "\"\t\"",
                                        R"("a"b")",
                                        R"("stream 7")"};

std::string make_events(FuzzedDataProvider& data) {
  std::string text = data.ConsumeBool() ? "[" : R"({"baseTimeNanoseconds": 5, "traceEvents": [)";
  const std::string_view row = R"("pid": 1, "tid": 1, "ts": 2, "dur": 3, "name": "a")";
  while (data.remaining_bytes() > 1) {
    text += data.ConsumeBool() ? "{" : R"({"ph": "X", )" + std::string(row) + ", ";
    for (size_t fields = data.ConsumeIntegralInRange<size_t>(0, 8); fields > 0; --fields) {
      text += "\"" + std::string(data.PickValueInArray(kKeys)) + "\": ";
      text += data.ConsumeIntegralInRange<int>(0, 15) == 0
                  ? data.ConsumeRandomLengthString(8)
                  : std::string(data.PickValueInArray(kValues));
      text += ", ";
    }
    text += R"("x": 0}, )";
  }
  return text;
}

}  // namespace
}  // namespace redline::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider provider(data, size);
  const auto trace = redline::trace::parse_trace("fuzz", redline::fuzz::make_events(provider));
  if (!trace) return 0;
  redline::fuzz::require_none(redline::fuzz::broken_promise(**trace));
  redline::fuzz::require_none(redline::fuzz::broken_round_trip(**trace));
  return 0;
}
