#include "viewer/models/load.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <set>

#include "base/parallel.h"
#include "trace/read/recordings.h"
#include "trace/report/diff.h"

namespace redline::viewer {
namespace {

using Read = tl::expected<trace::Traces, std::string>;

Read read_some(const std::vector<std::string>& paths, trace::ReadOptions options,
               std::vector<trace::ReadError>& left_out) {
  std::vector<trace::ReadError> unreadable;
  options.unreadable = &unreadable;
  auto traces = trace::read_traces(paths, options);
  if (!traces) return tl::unexpected(traces.error().message);
  left_out.insert(left_out.end(), unreadable.begin(), unreadable.end());
  return *std::move(traces);
}

bool is_compressed(const std::string& file) {
  return file.ends_with(".gz") || file.ends_with(".zst");
}

uint64_t text_bytes_of(const std::string& file) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(file, error);
  return error ? 0 : bytes * (is_compressed(file) ? trace::kUsualTextRatio : 1);
}

}  // namespace

bool opens_first_ranks(const std::vector<std::string>& paths, const ManyRanks& many) {
  uint64_t bytes = 0;
  size_t files = 0;
  for (const std::string& path : paths) {
    for (const std::string& file : trace::find_traces(path).value_or(std::vector<std::string>())) {
      bytes += text_bytes_of(file);
      ++files;
    }
  }
  return files >= many.least_ranks && bytes >= many.least_bytes;
}

namespace {

// The beginning of a file tells its rank. That is not enough where it does not, where a rank has
// several traces (then their recordings decide which count), and where flight recorders wrote them
// (then their times do).
bool tell_all(const trace::Traces& heads) {
  std::set<int> ranks;
  return std::ranges::all_of(heads, [&ranks](const auto& head) {
    const auto rank = head->metadata().rank;
    return rank && ranks.insert(*rank).second && trace::recorded_trace(*head).ring_process.empty();
  });
}

/// Loads the first ranks and knows the others by name; nullopt if all must be loaded.
std::optional<LoadedSession> open_first_ranks(const std::vector<std::string>& paths,
                                              const trace::ReadOptions& options,
                                              const ManyRanks& many) {
  constexpr uint64_t kHeadBytes = 64 << 10;
  if (!opens_first_ranks(paths, many)) return std::nullopt;
  LoadedSession first;
  trace::ReadOptions head = options;
  head.most_text_bytes = kHeadBytes;
  head.text_block_bytes = kHeadBytes;
  head.threads = 1;
  head.progress = nullptr;
  head.unreadable = &first.unreadable;
  const auto heads = trace::read_traces(paths, head);
  if (!heads || heads->size() < many.least_ranks || !tell_all(*heads)) return std::nullopt;
  for (const trace::ReadError& error : first.unreadable) {
    if (trace::read_trace(error.path, options)) return std::nullopt;  // it begins with much else
  }
  std::vector<SessionSource> sources;
  uint64_t bytes = 0;
  for (const auto& each : *heads) {
    bytes += text_bytes_of(each->path());
    const bool is_first =
        sources.empty() || (sources.size() < many.opened && bytes <= many.opened_bytes);
    if (!is_first) {
      sources.push_back({trace::without_events(*each), false});
      continue;
    }
    auto whole = trace::read_trace(each->path(), options);
    if (!whole) return std::nullopt;
    sources.push_back({*std::move(whole)});
  }
  first.session = std::make_shared<const Session>(Session::of_ranks(sources));
  return first;
}

}  // namespace

tl::expected<LoadedSession, std::string> load_session(const std::vector<std::string>& paths,
                                                      const trace::ReadOptions& options,
                                                      const ManyRanks& many) {
  const auto start = std::chrono::steady_clock::now();
  auto first = open_first_ranks(paths, options, many);
  if (!first) return load_comparison({}, paths, options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  first->seconds = took.count();
  return *std::move(first);
}

ReadRanks read_ranks(const Session& session, const std::vector<uint32_t>& ranks,
                     const std::atomic<bool>* cancel) {
  ReadRanks read;
  std::mutex mutex;
  const auto add = [&](size_t i, unsigned threads) {
    const uint32_t rank = ranks[i];
    trace::ReadOptions options;
    options.cancel = cancel;
    options.threads = threads;
    auto trace = trace::read_trace(session.traces()[rank].trace->path(), options);
    if (!trace) {
      const std::lock_guard lock(mutex);
      read.failed.emplace(rank, trace.error().message);
      return;
    }
    SessionTrace item = session.prepared(rank, *std::move(trace));
    const std::lock_guard lock(mutex);
    read.ranks.emplace(rank, std::move(item));
  };
  const unsigned cores = thread_count(0);
  const unsigned at_once = ranks.size() >= cores ? cores : 1;
  for_each_index(at_once, ranks.size(),
                 [&](size_t i, unsigned) { add(i, at_once > 1 ? 1 : cores); });
  return read;
}

tl::expected<LoadedSession, std::string> load_comparison(const std::vector<std::string>& before,
                                                         const std::vector<std::string>& after,
                                                         const trace::ReadOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  LoadedSession loaded;
  auto traces = read_some(before, options, loaded.unreadable);
  if (!traces) return tl::unexpected(traces.error());
  const size_t before_count = traces->size();
  const auto others = read_some(after, options, loaded.unreadable);
  if (!others) return tl::unexpected(others.error());
  traces->insert(traces->end(), others->begin(), others->end());
  loaded.session = std::make_shared<const Session>(*std::move(traces), before_count);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  loaded.seconds = took.count();
  return loaded;
}

namespace {

/// About how many bytes of text there are to read, in how many files. Files that open at once count
/// nothing.
struct Amount {
  uint64_t text_bytes = 0;
  uint64_t files = 0;
};

Amount amount_of(const std::vector<std::string>& paths, const trace::CacheOptions& cache) {
  Amount amount;
  for (const std::string& path : paths) {
    for (const std::string& file : trace::find_traces(path).value_or(std::vector<std::string>())) {
      std::error_code error;
      if (!std::filesystem::exists(file, error)) continue;
      ++amount.files;
      if (!trace::may_be_cached(file, cache)) amount.text_bytes += text_bytes_of(file);
    }
  }
  return amount;
}

}  // namespace

std::optional<LoadedSession> load_beginning(const std::vector<std::string>& before,
                                            const std::vector<std::string>& paths,
                                            const FirstLook& look, trace::ReadOptions options) {
  Amount amount = amount_of(paths, options.cache);
  const Amount amount_before = amount_of(before, options.cache);
  amount.text_bytes += amount_before.text_bytes;
  amount.files += amount_before.files;
  if (amount.files == 0 || amount.text_bytes < look.least_bytes) return std::nullopt;
  options.progress = nullptr;
  options.most_text_bytes =
      std::min(amount.text_bytes / look.share, look.most_bytes) / amount.files;
  auto loaded = load_comparison(before, paths, options);
  if (!loaded || loaded->session->lane_count() == 0) return std::nullopt;
  loaded->is_whole = false;
  return *std::move(loaded);
}

std::optional<std::chrono::seconds> time_left(int64_t elapsed_ns, uint64_t done, uint64_t total) {
  if (elapsed_ns < 1'000'000'000 || done == 0 || done >= total) return std::nullopt;
  const double rate = static_cast<double>(done) / static_cast<double>(elapsed_ns);
  const double left_s = static_cast<double>(total - done) / rate * 1e-9;
  if (left_s > 1e6) return std::nullopt;
  return std::chrono::seconds(std::llround(std::ceil(left_s)));
}

}  // namespace redline::viewer
