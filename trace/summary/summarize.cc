#include "trace/summary/summarize.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <tuple>

#include "base/clock.h"
#include "base/parallel.h"
#include "trace/advice/advice.h"
#include "trace/analysis/analysis.h"
#include "trace/read/recordings.h"
#include "trace/summary/summary_file.h"

namespace redline::trace {
namespace {

namespace fs = std::filesystem;

// Of each of several traces at a time; what is more goes into a temporary file.
constexpr size_t kTextMemoryBytes = size_t{256} << 20;

struct Input {
  std::string path;
  std::string folder;  // that it was found in
};

struct Inputs {
  std::vector<Input> traces;
  std::vector<std::string> summaries;
};

tl::expected<Inputs, ReadError> inputs_of(const std::vector<std::string>& paths) {
  Inputs inputs;
  std::set<fs::path> known;
  const auto is_new = [&](const std::string& file) {
    std::error_code error;
    const fs::path real = fs::canonical(file, error);
    return error || known.insert(real).second;  // the same file given twice is read once
  };
  for (const std::string& path : paths) {
    std::error_code error;
    const bool is_folder = fs::is_directory(path, error);
    const auto traces = find_traces(path);
    auto summaries = is_folder && !traces ? find_summaries(path) : std::vector<std::string>();
    if (!is_folder && is_summary_file(path)) summaries = {path};
    if (summaries.empty() && !traces) return tl::unexpected(traces.error());
    for (const std::string& file : summaries) {
      if (is_new(file)) inputs.summaries.push_back(file);
    }
    if (!summaries.empty()) continue;
    for (const std::string& file : *traces) {
      if (is_new(file)) inputs.traces.push_back({file, is_folder ? path : ""});
    }
  }
  return inputs;
}

// Copies of a trace have the same, and so do its summaries, however its path was spelled.
auto identity_of(const RankSummary& summary) {
  const TraceFacts& facts = summary.facts;
  return std::tuple(facts.rank.value_or(INT32_MAX), std::string_view(facts.host),
                    std::string_view(facts.recorded.process), facts.begin_ns, facts.end_ns,
                    facts.events);
}

class Summarizer {
 public:
  Summarizer(const SummarizeOptions& options, std::shared_ptr<StringTable> names,
             Summaries& summaries)
      : options_(options), names_(std::move(names)), summaries_(summaries) {}

  void add_traces(const std::vector<Input>& traces) {
    const unsigned cores = thread_count(0);
    // A few large traces are read one after the other, each by all cores.
    const unsigned at_once = traces.size() >= 2 * size_t{cores} ? cores : 1;
    for_each_index(at_once, traces.size(),
                   [&](size_t i, unsigned) { add(traces[i], at_once > 1); });
  }

 private:
  void add(const Input& input, bool is_one_of_several) {
    const int64_t begin_ns = monotonic_ns();
    ReadOptions read;
    read.cancel = options_.cancel;
    if (is_one_of_several) {
      read.threads = 1;
      read.text_memory_bytes = kTextMemoryBytes;
    }
    const auto known = options_.known.find(input.path);
    auto trace = known != options_.known.end() ? known->second : read_trace(input.path, read);
    const int64_t read_ns = monotonic_ns();
    if (!trace) {
      const std::lock_guard lock(mutex_);
      summaries_.unreadable.push_back({trace.error().message, input.path});
      return;
    }
    Analysis analysis = analyze(*trace, options_.cancel, is_one_of_several ? 1 : 2);
    if (!analysis.unrecorded_gpu) options_.peaks.apply_to(analysis.peaks);
    analysis = advised(std::move(analysis), is_one_of_several ? 1 : 2);
    analysis.facts.folder = input.folder;
    if (options_.visit) options_.visit(*trace);
    const std::lock_guard lock(mutex_);
    RankSummary& summary = summaries_.ranks.emplace_back(
        detached(std::move(static_cast<RankSummary&>(analysis)), names_));
    keep(summary, *std::move(trace));
    summaries_.read_seconds += static_cast<double>(read_ns - begin_ns) * 1e-9;
    summaries_.analyze_seconds += static_cast<double>(monotonic_ns() - read_ns) * 1e-9;
  }

  void keep(const RankSummary& summary, std::shared_ptr<const Trace> trace) {
    if (options_.kept_traces == 0) return;
    kept_.insert({summary.facts.rank.value_or(INT32_MAX), summary.facts.path});
    summaries_.kept[summary.facts.path] = std::move(trace);
    if (kept_.size() <= options_.kept_traces) return;
    summaries_.kept.erase(kept_.rbegin()->second);
    kept_.erase(std::prev(kept_.end()));
  }

  const SummarizeOptions& options_;
  const std::shared_ptr<StringTable> names_;
  Summaries& summaries_;
  std::set<std::pair<int, std::string>> kept_;
  std::mutex mutex_;
};

}  // namespace

size_t count_traces(const std::vector<std::string>& paths) {
  const auto inputs = inputs_of(paths);
  return inputs ? inputs->traces.size() : 0;
}

void add_summaries(std::istream& lines, const std::string& name, Summaries& summaries) {
  const auto names = std::make_shared<StringTable>();
  std::string text;
  for (size_t number = 1; std::getline(lines, text); ++number) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;  // where files were joined
    auto line = read_summary_line(text, names);
    if (!line) {
      summaries.unreadable.push_back(
          {name + ": line " + std::to_string(number) + " " + line.error(), name});
    } else if (auto* summary = std::get_if<RankSummary>(&*line)) {
      summaries.ranks.push_back(std::move(*summary));
    } else {
      summaries.unreadable.push_back(std::move(std::get<ReadError>(*line)));
    }
  }
  if (!lines.eof()) summaries.unreadable.push_back({name + ": cannot be read to its end", name});
}

void keep_latest(Summaries& summaries) {
  auto& ranks = summaries.ranks;
  std::ranges::sort(ranks, {}, [&](const RankSummary& rank) {
    const TraceFacts& facts = rank.facts;
    const bool is_loaded = summaries.kept.contains(facts.path);  // of copies such a one stays
    return std::tuple(identity_of(rank), !is_loaded, std::string_view(facts.path),
                      std::string_view(facts.folder));
  });
  std::map<std::string, std::vector<size_t>> folders;
  std::vector<bool> is_left_out(ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].facts.folder.empty()) continue;
    std::vector<size_t>& members = folders[ranks[i].facts.folder];
    is_left_out[i] =
        !members.empty() && identity_of(ranks[members.back()]) == identity_of(ranks[i]);
    if (!is_left_out[i]) members.push_back(i);
  }
  for (const auto& [folder, members] : folders) {
    std::vector<RecordedTrace> recorded;
    for (const size_t i : members) {
      recorded.push_back(ranks[i].facts.recorded);
      // The lines of a file of summaries lack these two.
      recorded.back().member.last_ns = ranks[i].facts.end_ns;
      recorded.back().is_merged = ranks[i].facts.merged_ranks > 0;
    }
    const std::vector<bool> of_folder = superseded(recorded);
    for (size_t i = 0; i < members.size(); ++i) {
      is_left_out[members[i]] = of_folder[i];
      if (of_folder[i]) summaries.left_out.push_back(ranks[members[i]].facts.path);
    }
  }
  std::vector<RankSummary> kept;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (is_left_out[i]) continue;
    if (!kept.empty() && identity_of(kept.back()) == identity_of(ranks[i])) continue;
    kept.push_back(std::move(ranks[i]));
  }
  ranks = std::move(kept);
  const auto place = [](const ReadError& error) { return std::tie(error.path, error.message); };
  std::ranges::sort(summaries.unreadable, {}, place);
  const auto is_same = [&](const ReadError& left, const ReadError& right) {
    return place(left) == place(right);
  };
  std::vector<ReadError>& errors = summaries.unreadable;
  errors.erase(std::unique(errors.begin(), errors.end(), is_same), errors.end());
}

tl::expected<Summaries, ReadError> summarize(const std::vector<std::string>& paths,
                                             const SummarizeOptions& options) {
  auto inputs = inputs_of(paths);
  if (!inputs) return tl::unexpected(inputs.error());
  std::vector<Input> traces;
  for (size_t i = options.part; i < inputs->traces.size(); i += options.parts) {
    traces.push_back(std::move(inputs->traces[i]));
  }
  Summaries summaries;
  Summarizer(options, std::make_shared<StringTable>(), summaries).add_traces(traces);
  if (options.cancel != nullptr && options.cancel->load()) {
    return tl::unexpected(ReadError{"cancelled"});
  }
  const size_t from_traces = summaries.ranks.size();
  if (options.part == 0) {
    for (const std::string& file : inputs->summaries) {
      std::ifstream lines(file, std::ios::binary);
      add_summaries(lines, file, summaries);
    }
  }
  for (size_t i = from_traces; i < summaries.ranks.size(); ++i) {
    RankSummary& rank = summaries.ranks[i];
    if (!rank.unrecorded_gpu) options.peaks.apply_to(rank.peaks);
  }
  return summaries;
}

}  // namespace redline::trace
