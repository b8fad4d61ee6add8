#include "viewer/models/find_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "trace/model/slice_view.h"
#include "viewer/models/format.h"
#include "viewer/models/tracks.h"

namespace redline::viewer {
namespace {

constexpr size_t kName = 0, kDuration = 1, kBegin = 2, kTrack = 3;
// Hits sorted between two checks whether the result is still wanted.
constexpr size_t kSortedAtOnce = 1 << 19;

struct Keyed {
  int64_t key = 0;
  SliceRef ref;
};

// Bins from the shortest to the longest duration, all of the same ratio, because kernels take from
// 1 us to 1 s.
std::vector<HistogramBin> make_histogram(const std::vector<int64_t>& durations,
                                         const Quantiles& spread) {
  std::vector<HistogramBin> bins;
  if (durations.empty()) return bins;
  const double low = std::max(1.0, static_cast<double>(spread.min));
  const double high = std::max(low + 1, static_cast<double>(spread.max) + 1);
  const double ratio = std::pow(high / low, 1.0 / static_cast<double>(kHistogramBins));
  double from = low;
  for (size_t i = 0; i < kHistogramBins; ++i) {
    bins.push_back({from, from * ratio, 0, 0});
    from *= ratio;
  }
  for (const int64_t duration : durations) {
    HistogramBin& bin = bins[bin_of(bins, duration)];
    ++bin.count;
    bin.total_ns = saturating_sum(bin.total_ns, duration);
  }
  return bins;
}

std::string track_text(const Session& session, uint32_t index, const trace::Track& track) {
  if (track.kind == trace::TrackKind::kGpuStream) {
    return fmt::format("{} stream {}", gpu_title(session, index, track.device), track.stream);
  }
  const SessionTrace& source = session.traces()[index];
  const std::string thread = fmt::format("thread {}", printable(source.trace->string(track.tid)));
  return source.title.empty() ? thread : source.title + " · " + thread;
}

std::string track_text(const Session& session, SliceRef ref) {
  const trace::Trace& trace = *session.traces()[ref.trace].trace;
  return track_text(session, ref.trace, trace::track_of(trace, ref.slice));
}

/// The places of names, or of tracks' titles, in the alphabet, by trace and id. Empty for columns
/// of numbers.
std::vector<std::vector<int64_t>> ranks_of_words(const Session& session, size_t column) {
  if (column != kName && column != kTrack) return {};
  std::vector<std::pair<std::string, std::pair<size_t, size_t>>> words;
  std::vector<std::vector<int64_t>> ranks;
  for (uint32_t t = 0; t < session.traces().size(); ++t) {
    const trace::Trace& trace = *session.traces()[t].trace;
    const size_t count = column == kName ? trace.string_count() : trace.tracks().size();
    ranks.emplace_back(count);
    for (uint32_t i = 0; i < count; ++i) {
      words.emplace_back(column == kName ? std::string(trace.string({i}))
                                         : track_text(session, t, trace.tracks()[i]),
                         std::pair(t, i));
    }
  }
  std::ranges::sort(words, [](const auto& left, const auto& right) {
    return text_less(left.first, right.first);
  });
  int64_t rank = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0 && words[i].first != words[i - 1].first) ++rank;
    ranks[words[i].second.first][words[i].second.second] = rank;
  }
  return ranks;
}

int64_t key_of(const Session& session, const std::vector<std::vector<int64_t>>& ranks, SliceRef ref,
               size_t column) {
  if (column == kDuration) return session.range_of(ref).span_ns();
  if (column == kBegin) return session.range_of(ref).begin_ns;
  if (column == kTrack) return ranks[ref.trace][session.lane_of(ref).track.value];
  const trace::StringId name = session.traces()[ref.trace].trace->slices().name[ref.slice.value];
  return name ? ranks[ref.trace][name.value] : -1;
}

}  // namespace

size_t bin_of(const std::vector<HistogramBin>& histogram, int64_t duration_ns) {
  const auto after = std::ranges::upper_bound(histogram, static_cast<double>(duration_ns), {},
                                              &HistogramBin::to_ns);
  const auto index = static_cast<size_t>(after - histogram.begin());
  return std::min(index, histogram.empty() ? 0 : histogram.size() - 1);
}

SliceRef longest_of(const Session& session, const std::vector<SliceRef>& hits,
                    const HistogramBin& bin) {
  const auto first = std::partition_point(hits.begin(), hits.end(), [&](SliceRef ref) {
    return static_cast<double>(session.range_of(ref).span_ns()) >= bin.to_ns;
  });
  return bin.count == 0 || first == hits.end() ? SliceRef() : *first;
}

const std::vector<TableColumn>& hit_columns() {
  static const std::vector<TableColumn> columns = {{"Name", Unit::kName},
                                                   {"Duration", Unit::kDuration},
                                                   {"Begins at", Unit::kTime},
                                                   {"Track", Unit::kText}};
  return columns;
}

TableValue hit_value(const Session& session, SliceRef ref, size_t column) {
  switch (column) {
    case kName:
      return name_value(session, ref);
    case kDuration:
      return session.range_of(ref).span_ns();
    case kBegin:
      return session.range_of(ref).begin_ns;
    case kTrack:
      return track_text(session, ref);
    default:
      return {};
  }
}

Hits sort_hits(const Session& session, const std::vector<SliceRef>& hits, size_t column,
               bool ascending, const std::atomic<bool>* cancel) {
  const auto is_cancelled = [cancel] { return cancel && cancel->load(); };
  const std::vector<std::vector<int64_t>> ranks = ranks_of_words(session, column);
  std::vector<Keyed> rows;
  rows.reserve(hits.size());
  for (const SliceRef ref : hits) {
    const int64_t key = key_of(session, ranks, ref, column);
    rows.push_back({ascending ? key : -1 - key, ref});
  }
  const auto less = [](const Keyed& a, const Keyed& b) {
    return a.key != b.key ? a.key < b.key : a.ref < b.ref;
  };
  const auto at = [&rows](size_t index) {
    return rows.begin() + static_cast<std::ptrdiff_t>(std::min(index, rows.size()));
  };
  for (size_t i = 0; i < rows.size() && !is_cancelled(); i += kSortedAtOnce) {
    std::sort(at(i), at(i + kSortedAtOnce), less);
  }
  for (size_t run = kSortedAtOnce; run < rows.size(); run *= 2) {
    for (size_t i = 0; i < rows.size() && !is_cancelled(); i += 2 * run) {
      std::inplace_merge(at(i), at(i + run), at(i + 2 * run), less);
    }
  }
  std::vector<SliceRef> sorted;
  sorted.reserve(rows.size());
  for (const Keyed& row : rows) sorted.push_back(row.ref);
  return std::make_shared<const std::vector<SliceRef>>(std::move(sorted));
}

FindResults find_results(const Session& session, const Search& search,
                         const std::atomic<bool>* cancel) {
  FindResults results;
  std::vector<int64_t> durations;
  std::vector<SliceRef> hits;
  search.for_each(session, [&](SliceRef ref) {
    if (cancel && durations.size() % 65'536 == 0 && cancel->load()) return false;
    durations.push_back(session.range_of(ref).span_ns());
    hits.push_back(ref);
    return true;
  });
  results.spread = quantiles_of(durations);
  results.histogram = make_histogram(durations, results.spread);
  results.hits = sort_hits(session, hits, kDuration, false, cancel);
  return results;
}

}  // namespace redline::viewer
