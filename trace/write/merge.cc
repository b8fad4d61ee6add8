#include "trace/write/merge.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/file.h"
#include "base/integer.h"
#include "base/json_values.h"
#include "trace/analysis/collective_calls.h"
#include "trace/analysis/host_tree.h"
#include "trace/analysis/matched_collectives.h"
#include "trace/analysis/ranks.h"
#include "trace/read/recordings.h"
#include "trace/write/rewrite.h"

namespace redline::trace {
namespace {

using json = nlohmann::ordered_json;
using RankTraces = std::span<const std::shared_ptr<const Trace>>;

std::vector<std::optional<ClockOffset>> clocks_of(RankTraces traces) {
  std::vector<RankCollectives> collectives;
  std::vector<RankRecording> recordings;
  int64_t nameless = INT64_MAX;
  for (const auto& trace : traces) {
    const NameKinds names(*trace);
    collectives.push_back(rank_collectives(
        *trace, find_collective_calls(*trace, names, find_device_work(*trace, names),
                                      build_host_tree(*trace, names))));
    const auto number = trace->metadata().rank;
    recordings.push_back(
        {number ? *number : nameless--, trace->begin_ns(), !collectives.back().calls.empty()});
  }
  // A rank has one clock in all its recordings.
  std::vector<const RankCollectives*> ranks;
  std::map<int64_t, size_t> places;
  for (const size_t compared : recordings_to_compare(recordings)) {
    places.emplace(recordings[compared].rank, ranks.size());
    ranks.push_back(&collectives[compared]);
  }
  const auto of_ranks = align_clocks(ranks, match_collectives(ranks));
  std::vector<std::optional<ClockOffset>> clocks;
  for (const RankRecording& each : recordings) clocks.push_back(of_ranks[places.at(each.rank)]);
  return clocks;
}

std::string label_of(const Trace& trace) {
  const auto rank = trace.metadata().rank;
  if (rank) return "rank " + std::to_string(*rank);
  return std::filesystem::path(trace.path()).filename().string();
}

// Hands out pids so that no two ranks share one. Windows of one process keep theirs.
class Pids {
 public:
  using Renamed = std::map<std::string, std::string, std::less<>>;

  Renamed of(const Trace& trace, const std::string& label) {
    const std::set<std::string> own = pids_of(trace);
    Renamed renamed;
    Renamed& given = given_to(trace);
    for (const std::string& pid : own) {
      const auto [entry, is_new] = given.try_emplace(pid, pid);
      if (is_new && used_.contains(pid)) entry->second = free_pid(pid, label, own);
      if (entry->second != pid) renamed[pid] = entry->second;
      used_.insert(entry->second);
    }
    return renamed;
  }

 private:
  struct Process {
    Renamed pids;
    int64_t end_ns = INT64_MIN;
  };

  /// What the earlier windows of the same process got. Windows that overlap, as copies of one trace
  /// do, need their own: slices would cover each other. So do those of no rank, as processes of two
  /// containers may have one PID.
  Renamed& given_to(const Trace& trace) {
    const auto rank = trace.metadata().rank;
    const std::string name = recorded_trace(trace).process;
    Process& process = processes_[{rank.value_or(0), name}];
    if (!rank || name.empty() || trace.begin_ns() < process.end_ns) process.pids.clear();
    process.end_ns = trace.end_ns();
    return process.pids;
  }

  // Numbers stay numbers, because readers expect them.
  [[nodiscard]] std::string free_pid(const std::string& pid, const std::string& label,
                                     const std::set<std::string>& own) const {
    const auto number = parse_integer(pid);
    for (int64_t i = 1;; ++i) {
      const bool fits = number && *number >= 0 && *number < INT64_MAX - i * kMergedPidStride;
      std::string candidate =
          fits ? std::to_string(*number + i * kMergedPidStride) : label + " " + pid;
      if (!fits && i > 1) candidate += " (" + std::to_string(i) + ")";
      if (!used_.contains(candidate) && !own.contains(candidate)) return candidate;
    }
  }

  std::set<std::string> used_;
  std::map<std::pair<int, std::string>, Process> processes_;
};

// Shifts the correlation numbers of each trace behind those of the trace before.
class Correlations {
 public:
  uint32_t shift_of(const Trace& trace) {
    uint32_t least = UINT32_MAX, most = 0;
    for (const uint32_t number : trace.slices().correlation) {
      if (number == 0) continue;
      least = std::min(least, number);
      most = std::max(most, number);
    }
    if (most == 0) return 0;
    const uint32_t shift = last_ == 0 ? 0 : last_ + 1 - least;
    last_ = most + shift;
    return shift;
  }

 private:
  uint32_t last_ = 0;
};

json clock_json(const std::optional<ClockOffset>& clock) {
  if (!clock) return nullptr;
  return {{"offset_ns", clock->offset_ns},
          {"uncertainty_ns", clock->uncertainty_ns},
          {"drift_ppm", clock->drift * 1e6},
          {"at_ns", clock->at_ns},
          {"pairs", clock->pairs}};
}

json ranks_json(RankTraces traces, const std::vector<MergedRank>& ranks) {
  json list = json::array();
  for (size_t i = 0; i < ranks.size(); ++i) {
    const Metadata& metadata = traces[i]->metadata();
    json top = json::parse(metadata.top_level_json, nullptr, false);
    if (top.is_discarded()) top = nullptr;
    json devices = json::parse(metadata.device_properties_json, nullptr, false);
    if (!devices.is_discarded() && top.is_object()) top["deviceProperties"] = std::move(devices);
    list.push_back({{"rank", metadata.rank},
                    {"path", ranks[i].path},
                    {"clock", clock_json(ranks[i].clock)},
                    {"metadata", std::move(top)}});
  }
  return list;
}

int64_t shift_ns(const MergedRank& rank) { return rank.clock ? rank.clock->offset_ns : 0; }

// A base that is below every time, with room for any drift.
int64_t common_base_ns(RankTraces traces, const std::vector<MergedRank>& ranks) {
  int64_t base_ns = INT64_MAX;
  for (size_t i = 0; i < traces.size(); ++i) {
    base_ns = std::min(base_ns, base_of(*traces[i], shift_ns(ranks[i])));
  }
  return base_ns;
}

TraceHeader header_for(RankTraces traces, const std::vector<MergedRank>& ranks) {
  TraceHeader header = header_of(*traces.front());
  header.base_ns = common_base_ns(traces, ranks);
  std::erase_if(header.entries, [](const Entry& entry) {
    return entry.first == "redline" || entry.first == "redline_merge";
  });
  const json about = {{"clock_of", reference_of(ranks).label},
                      {"ranks", ranks_json(traces, ranks)}};
  header.entries.emplace_back("redline_merge", json_text(about, 0));
  return header;
}

// The error with the name that the user gave in place of those under which the file is made.
std::string under_its_name(std::string error, const std::string& path) {
  for (const std::string& made : {spool_path(path), partial_path(path)}) {
    if (const size_t at = error.find(made); at != std::string::npos) {
      return error.replace(at, made.size(), path);
    }
  }
  return error;
}

}  // namespace

const MergedRank& reference_of(std::span<const MergedRank> ranks) {
  const auto found = std::ranges::find_if(
      ranks, [](const MergedRank& rank) { return rank.clock && rank.clock->is_reference(); });
  return found == ranks.end() ? ranks.front() : *found;
}

tl::expected<std::vector<MergedRank>, std::string> merge_traces(RankTraces traces,
                                                                const std::string& path,
                                                                const MergeOptions& options) {
  if (traces.empty()) return tl::unexpected(std::string("no traces to merge"));
  std::vector<std::optional<ClockOffset>> clocks(traces.size());
  if (options.align) clocks = clocks_of(traces);
  std::vector<MergedRank> ranks;
  uint64_t total = 0, done = 0;
  for (size_t i = 0; i < traces.size(); ++i) {
    ranks.push_back({traces[i]->path(), label_of(*traces[i]), clocks[i]});
    total += traces[i]->slice_count();
  }

  TraceWriter writer(spool_path(path), header_for(traces, ranks));
  TraceRewriter rewriter(writer);
  Pids pids;
  Correlations correlations;
  for (size_t i = 0; i < traces.size(); ++i) {
    RewriteOptions rewrite;
    rewrite.shift_ns = shift_ns(ranks[i]);
    if (ranks[i].clock) rewrite.drift = ranks[i].clock->drift;
    if (ranks[i].clock) rewrite.drift_at_ns = ranks[i].clock->at_ns;
    rewrite.correlation_shift = correlations.shift_of(*traces[i]);
    rewrite.pids = pids.of(*traces[i], ranks[i].label);
    rewrite.process_prefix = ranks[i].label;
    rewrite.go_on = [&](uint64_t rows) {
      done += rows;
      if (options.progress) options.progress(done, total);
      return writer.error().empty() && (options.cancel == nullptr || !options.cancel->load());
    };
    const bool whole = rewriter.add(*traces[i], rewrite);
    if (!whole && writer.error().empty()) return tl::unexpected(std::string("cancelled"));
    if (!whole) break;
  }
  writer.complete({});
  if (auto saved = writer.save(path); !saved) {
    // The writer keeps the spool of a job that it could not save. Here the traces still exist, so
    // it goes.
    writer.drop();
    return tl::unexpected(under_its_name(saved.error(), path));
  }
  return ranks;
}

}  // namespace redline::trace
