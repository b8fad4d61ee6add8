// Writes a big trace for benchmarks, by repeating the events of a real one at later and later
// times.
//
//     repeat_trace IN[.gz] OUT[.gz|.zst] [MEGABYTES]
//
// With every round times grow by the trace's span, and correlation, external and flow ids by the
// largest one, so that every launch still has one kernel. Everything else stays as it is, also
// white space.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "trace/emit/json_scan.h"
#include "trace/read/text.h"

namespace {

using redline::trace::Text;

enum class Moves { kTime, kId };

/// A number in the text that differs from round to round. `before` is the text in front of it.
struct Number {
  std::string_view before;
  Moves moves;
  int64_t whole = 0;  ///< without the decimals of a time, which stay in the next `before`
};

struct Template {
  std::vector<Number> numbers;
  std::string_view rest;
  int64_t span = 0;  ///< in the file's microseconds
  int64_t largest_id = 0;
};

/// How the value of this key differs from round to round; nullptr if it does not.
const Moves* moves_of(std::string_view key) {
  static constexpr Moves kTime = Moves::kTime, kId = Moves::kId;
  if (key == "ts") return &kTime;
  if (key == "id" || key == "correlation" || key == "External id") return &kId;
  return nullptr;
}

Template find_numbers(std::string_view events) {
  Template found;
  int64_t first = INT64_MAX, last = 0;
  size_t done = 0;
  for (size_t colon = events.find("\": "); colon != std::string_view::npos;
       colon = events.find("\": ", colon + 1)) {
    const size_t open = events.rfind('"', colon - 1);
    const Moves* moves = moves_of(events.substr(open + 1, colon - open - 1));
    const size_t begin = colon + 3;
    int64_t whole = 0;
    const auto [end, error] =
        std::from_chars(events.data() + begin, events.data() + events.size(), whole);
    if (moves == nullptr || error != std::errc()) continue;
    found.numbers.push_back({events.substr(done, begin - done), *moves, whole});
    done = static_cast<size_t>(end - events.data());
    if (*moves == Moves::kId) {
      found.largest_id = std::max(found.largest_id, whole);
    } else if (whole > 0) {
      first = std::min(first, whole);
      last = std::max(last, whole);
    }
  }
  found.rest = events.substr(done);
  found.span = last - first + 1000;
  return found;
}

class Output {
 public:
  explicit Output(const std::string& path) {
    const std::string quoted = "'" + path + "'";
    if (path.ends_with(".gz")) {
      pipe_ = popen(("gzip -6 > " + quoted).c_str(), "w");
    } else if (path.ends_with(".zst")) {
      pipe_ = popen(("zstd -q -3 -f -o " + quoted).c_str(), "w");
    } else {
      file_ = fopen(path.c_str(), "w");
    }
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() {
    if (pipe_ != nullptr) pclose(pipe_);
    if (file_ != nullptr) fclose(file_);
  }

  bool write(std::string_view text) {
    bytes_ += text.size();
    FILE* out = pipe_ != nullptr ? pipe_ : file_;
    return out != nullptr && fwrite(text.data(), 1, text.size(), out) == text.size();
  }
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  FILE* pipe_ = nullptr;
  FILE* file_ = nullptr;
  size_t bytes_ = 0;
};

bool write_round(const Template& events, int64_t round, Output& out) {
  fmt::memory_buffer text;
  for (const Number& number : events.numbers) {
    text.append(number.before);
    int64_t value = number.whole;
    if (number.moves == Moves::kTime && value > 0) value += round * events.span;
    if (number.moves == Moves::kId && value > 0) value += round * events.largest_id;
    const fmt::format_int digits(value);
    text.append(digits.data(), digits.data() + digits.size());
  }
  text.append(events.rest);
  return out.write({text.data(), text.size()});
}

int repeat(const std::string& in, const std::string& path, size_t bytes) {
  const auto text = Text::load(in, {});
  if (!text) return fmt::print(stderr, "repeat_trace: {}\n", text.error().message), 1;
  const std::string_view all = (*text)->at_least(SIZE_MAX).text;
  const size_t key = all.find("\"traceEvents\"");
  const size_t open = all.find('[', key);
  const size_t behind = open < all.size() ? redline::trace::skip_value(all, open) : all.size();
  if (key == std::string_view::npos || behind >= all.size()) {
    return fmt::print(stderr, "repeat_trace: {}: no \"traceEvents\"\n", in), 1;
  }
  const size_t close = behind - 1;
  const Template events = find_numbers(all.substr(open + 1, close - open - 1));
  Output out(path);
  bool good = out.write(all.substr(0, open + 1));
  for (int64_t round = 0; good && (round == 0 || out.bytes() < bytes); ++round) {
    if (round > 0) good = out.write(",");
    good = good && write_round(events, round, out);
  }
  if (good && out.write(all.substr(close))) return 0;
  return fmt::print(stderr, "repeat_trace: {}: cannot write\n", path), 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    fmt::print(stderr, "usage: repeat_trace IN[.gz] OUT[.gz|.zst] [MEGABYTES = 1000]\n");
    return 2;
  }
  const size_t megabytes = count > 3 ? std::strtoul(arguments[3], nullptr, 10) : 1000;
  return repeat(arguments[1], arguments[2], megabytes * 1'000'000);
}
