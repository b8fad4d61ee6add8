// Builds the text of small traces, event by event, in Kineto's form. Times are nanoseconds.
//
//     TraceText text;
//     text.rank(0, 2).step(1, 0, 5000).cpu_op("aten::mm", 0, 1000);
//     parse_trace("test", text.str())
#pragma once

#include <fmt/format.h>
#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace redline::testing {

constexpr int64_t kUs = 1'000;
constexpr int64_t kMs = 1'000'000;

/// The row of an event, and further members of its args.
struct Row {
  std::string pid = "1";
  std::string tid = "1";
  uint32_t correlation = 0;
  std::string args = {};  ///< further members of "args", e.g. "\"bytes\": 4"
};

inline Row on_stream(int stream, uint32_t correlation = 0, std::string args = {}) {
  return {"0", std::to_string(stream), correlation, std::move(args)};
}

class TraceText {
 public:
  TraceText& slice(const std::string& category, const std::string& name, int64_t begin_ns,
                   int64_t end_ns, const Row& row = {}) {
    std::string args = row.args;
    if (row.correlation != 0) {
      args += fmt::format("{}\"correlation\": {}", args.empty() ? "" : ", ", row.correlation);
    }
    return event(fmt::format(
        R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, )"
        R"("args": {{{}}}}})",
        category, name, row.pid, row.tid, microseconds(begin_ns), microseconds(end_ns - begin_ns),
        args));
  }

  TraceText& cpu_op(const std::string& name, int64_t begin_ns, int64_t end_ns,
                    const Row& row = {}) {
    return slice("cpu_op", name, begin_ns, end_ns, row);
  }
  TraceText& annotation(const std::string& name, int64_t begin_ns, int64_t end_ns) {
    return slice("user_annotation", name, begin_ns, end_ns);
  }
  TraceText& step(int number, int64_t begin_ns, int64_t end_ns) {
    return annotation(fmt::format("ProfilerStep#{}", number), begin_ns, end_ns);
  }
  TraceText& runtime(const std::string& name, int64_t begin_ns, int64_t end_ns,
                     uint32_t correlation = 0) {
    return slice("cuda_runtime", name, begin_ns, end_ns, {.correlation = correlation});
  }
  TraceText& kernel(const std::string& name, int64_t begin_ns, int64_t end_ns,
                    const Row& row = on_stream(7)) {
    return slice("kernel", name, begin_ns, end_ns, row);
  }

  /// Adds a whole event, given as JSON.
  TraceText& event(const std::string& json) {
    events_ += (events_.empty() ? "\n" : ",\n") + json;
    return *this;
  }
  /// Adds a top-level member, e.g. top("\"baseTimeNanoseconds\": 5").
  TraceText& top(const std::string& member) {
    top_ += member + ",\n";
    return *this;
  }
  TraceText& rank(int rank, int world_size, const std::string& backend = "gloo") {
    return top(
        fmt::format(R"("distributedInfo": {{"backend": "{}", "rank": {}, "world_size": {}}})",
                    backend, rank, world_size));
  }

  [[nodiscard]] std::string str() const {
    return "{\"schemaVersion\": 1,\n" + top_ + "\"traceEvents\": [" + events_ + "\n]}\n";
  }

 private:
  static std::string microseconds(int64_t ns) {
    return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
  }

  std::string top_;
  std::string events_;
};

/// The text compressed by zlib, so that tests of reading do not depend on our own compressor.
inline std::string gzip(std::string_view text) {
  std::string out(compressBound(text.size()) + 64, '\0');
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// What zlib inflates of a stream, which may be torn: at most `most` bytes. `window_bits` are those
/// of inflateInit2, and `status` becomes the last status of zlib.
inline std::string inflated(std::string_view deflated, int window_bits, size_t most,
                            int* status = nullptr) {
  std::string out(most, '\0');
  z_stream stream{};
  inflateInit2(&stream, window_bits);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(deflated.data()));
  stream.avail_in = static_cast<uInt>(deflated.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int last = inflate(&stream, Z_SYNC_FLUSH);
  if (status != nullptr) *status = last;
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

}  // namespace redline::testing
