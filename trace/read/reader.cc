#include "trace/read/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <numeric>
#include <set>
#include <system_error>

#include "base/format.h"
#include "base/parallel.h"
#include "trace/read/builder.h"
#include "trace/read/cache.h"
#include "trace/read/document.h"
#include "trace/read/rank_files.h"
#include "trace/read/recordings.h"
#include "trace/read/text.h"

namespace redline::trace {
namespace {

namespace fs = std::filesystem;

constexpr size_t kKeysShown = 8;
constexpr size_t kPerfettoBytes = 4096;

// The name without ".gz" or ".zst".
std::string_view plain_name(std::string_view name) {
  for (const std::string_view suffix : {".gz", ".zst"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return name;
}

std::string key_list(const std::vector<TopLevelValue>& values) {
  std::string list;
  for (size_t i = 0; i < values.size() && i < kKeysShown; ++i) {
    list += (i == 0 ? "" : ", ") + values[i].key;
  }
  return values.size() > kKeysShown ? list + ", …" : list;
}

// Perfetto's own format is a row of packets, each of which is field 1 of a protobuf message, with
// its length. Two packets are enough to recognise it; the second may be cut.
bool is_perfetto(std::string_view text) {
  constexpr int kEnough = 2;
  for (int packets = 0; packets < kEnough; ++packets) {
    if (text.size() < 2 || text.front() != '\x0a') return false;
    uint64_t length = 0;
    size_t at = 1;
    for (int shift = 0; at < text.size() && shift < 35; shift += 7, ++at) {
      const auto byte = static_cast<uint8_t>(text[at]);
      length |= uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80U) == 0) break;
    }
    if (length == 0 || at + 1 >= text.size()) return false;
    text.remove_prefix(at + 1);
    if (length >= text.size()) return packets > 0 || length == text.size();
    text.remove_prefix(length);
  }
  return true;
}

ReadError only_summaries(const std::string& path) {
  return ReadError{fmt::format(
      "{}: only summaries, which redline report reads. Name the traces themselves", path)};
}

ReadError no_trace(const std::string& path, const Text& text, const Document& document) {
  if (path.ends_with(kSummarySuffix)) return only_summaries(path);
  if (document.values.empty() && is_perfetto(text.hold(0, kPerfettoBytes).from(0))) {
    return {
        fmt::format("{}: a Perfetto trace (.pftrace), which is not read. torch.profiler writes "
                    "JSON, too: export_chrome_trace(\"trace.json\")",
                    path)};
  }
  const std::string what =
      document.values.empty()
          ? (document.is_array ? "no trace events in this JSON array" : "not a JSON trace")
          : fmt::format("no trace events in this JSON object (keys: {})",
                        key_list(document.values));
  return {fmt::format("{}: {}. A trace has \"traceEvents\": see docs/formats.md", path, what)};
}

template <typename IsOne>
std::vector<std::string> files_in(const std::string& folder, IsOne is_one, std::error_code& error) {
  std::vector<std::string> files;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    const std::string name = entry->path().filename().string();
    // A link to nothing or a pipe is a trace that cannot be read, which is said.
    if (!entry->is_directory(ignored) && is_one(name)) files.push_back(entry->path().string());
  }
  std::ranges::sort(files);
  return files;
}

bool is_json_name(std::string_view name) { return plain_name(name).ends_with(".json"); }

bool is_trace_name(std::string_view name) { return plain_name(name).ends_with(".pt.trace.json"); }

// Values that are no events do not make a trace. A torn event does, and so does an empty list if
// the file says that it is a trace.
bool is_trace(const Document& document, const CollectedEvents& events) {
  if (!document.has_events) return false;
  uint64_t with_phase = 0, broken = 0, others = 0;
  for (const auto& rows : events.rows) {
    const auto& counts = rows->events_by_phase;
    with_phase += std::accumulate(counts.begin() + 1, counts.end(), uint64_t{0});
    broken += rows->issues.count(Issue::kEventCut) + rows->issues.count(Issue::kEventMalformed);
    others += rows->issues.count(Issue::kNotAnEvent) + counts[0];
  }
  if (with_phase + broken > 0) return true;
  return others == 0 && !document.is_array;
}

tl::expected<std::shared_ptr<const Trace>, ReadError> build(const std::string& path,
                                                            std::shared_ptr<const Text> text,
                                                            const ReadOptions& options) {
  IssueLog issues;
  CollectedEvents events;
  const Document document = read_document(*text, events, issues, options);
  if (document.cancelled) return tl::unexpected(ReadError{"cancelled"});
  if (!is_trace(document, events)) return tl::unexpected(no_trace(path, *text, document));
  issues.add(text->issues());
  TraceFrame frame{path, read_metadata(document.values, issues), base_time_ns(document.values),
                   std::move(text)};
  frame.text->release_all();
  return TraceBuilder(std::move(events), thread_count(options.threads))
      .build(std::move(frame), std::move(issues));
}

tl::expected<std::shared_ptr<const Trace>, ReadError> build_in_memory(
    const std::string& path, std::shared_ptr<const Text> text, const ReadOptions& options) {
  try {
    return build(path, std::move(text), options);
  } catch (const std::bad_alloc&) {
    return tl::unexpected(ReadError{fmt::format("{}: not enough memory to open it", path)});
  }
}

}  // namespace

tl::expected<std::shared_ptr<const Trace>, ReadError> read_trace(const std::string& path,
                                                                 const ReadOptions& options) {
  const auto file = Text::open(path, options);
  if (!file) return tl::unexpected(file.error());
  const bool is_whole = (*file)->file_size() == (*file)->stamp().bytes;
  CacheOptions cache_options = options.cache;
  cache_options.enabled &= is_whole;
  const TraceCache cache(path, *file, cache_options);
  const bool is_cancelled = options.cancel != nullptr && options.cancel->load();
  if (auto known = is_cancelled ? nullptr : cache.load()) {
    if (options.progress) options.progress((*file)->file_size(), (*file)->file_size());
    return known;
  }
  if (const auto readable = (*file)->check(path); !readable) {
    return tl::unexpected(readable.error());
  }
  auto trace = build_in_memory(path, *file, options);
  // Where memory and disk did not suffice, they may the next time.
  const auto was_cut = [&] {
    const auto issues = (*trace)->issues();
    return std::ranges::find(issues, Issue::kTextTooLarge, &LoadIssue::issue) != issues.end();
  };
  if (trace && !was_cut()) cache.store_in_background(**trace);
  return trace;
}

tl::expected<std::shared_ptr<const Trace>, ReadError> parse_trace(const std::string& name,
                                                                  std::string_view json,
                                                                  const ReadOptions& options) {
  return build_in_memory(name, Text::of(json), options);
}

std::shared_ptr<const Trace> without_events(const Trace& trace) {
  return TraceBuilder::without_events(trace);
}

bool may_be_cached(const std::string& path, const CacheOptions& options) {
  return TraceCache(path, nullptr, options).has_entry();
}

std::vector<std::string> find_unfinished(const std::string& folder) {
  constexpr std::string_view kUnfinished = ".partial";
  std::error_code ignored;
  return files_in(
      folder,
      [&](std::string_view name) {
        return name.ends_with(kUnfinished) &&
               is_trace_name(name.substr(0, name.size() - kUnfinished.size()));
      },
      ignored);
}

tl::expected<std::vector<std::string>, ReadError> find_traces(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  auto files = files_in(path, is_trace_name, error);
  if (files.empty() && !error) files = find_unfinished(path);
  if (files.empty() && !error) files = files_in(path, is_json_name, error);
  if (error) return tl::unexpected(ReadError{fmt::format("{}: {}", path, error.message())});
  if (files.empty()) {
    if (!find_rank_files(path, kSummarySuffix).empty()) return tl::unexpected(only_summaries(path));
    return tl::unexpected(
        ReadError{fmt::format("{}: no traces in this folder. Record some: redline record -o {} -- "
                              "CMD",
                              path, format_command({path}))});
  }
  return files;
}

tl::expected<std::vector<std::shared_ptr<const Trace>>, ReadError> read_traces(
    const std::vector<std::string>& paths, const ReadOptions& options) {
  std::vector<std::shared_ptr<const Trace>> traces;
  std::set<fs::path> known;
  std::vector<ReadError> unreadable;
  for (const std::string& path : paths) {
    const auto files = find_traces(path);
    if (!files) return tl::unexpected(files.error());
    std::vector<std::shared_ptr<const Trace>> found;
    for (const std::string& file : *files) {
      std::error_code error;
      const fs::path real = fs::canonical(file, error);
      if (!error && !known.insert(real).second) continue;  // the same file given twice is read once
      auto trace = read_trace(file, options);
      if (!trace) {
        const bool is_cancelled = options.cancel && options.cancel->load();
        if (!options.unreadable || is_cancelled) return tl::unexpected(trace.error());
        unreadable.push_back({trace.error().message, file});
        continue;
      }
      found.push_back(std::move(*trace));
    }
    std::vector<RecordedTrace> recorded;
    for (const auto& trace : found) recorded.push_back(recorded_trace(*trace));
    const std::vector<bool> left_out = superseded(recorded);
    for (size_t i = 0; i < found.size(); ++i) {
      if (!left_out[i]) traces.push_back(std::move(found[i]));
    }
  }
  if (traces.empty() && !unreadable.empty()) return tl::unexpected(unreadable.front());
  if (options.unreadable) *options.unreadable = std::move(unreadable);
  const auto order = [](const std::shared_ptr<const Trace>& trace) {
    return place_of_trace(trace->metadata().rank, trace->begin_ns(), trace->path());
  };
  std::ranges::stable_sort(traces, {}, order);
  return traces;
}

}  // namespace redline::trace
