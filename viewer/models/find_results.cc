#include "viewer/models/find_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

struct Hit {
  SliceRef ref;
  int64_t duration_ns = 0;
};

// Bins of one ratio from the shortest to the longest: kernels take from 1 us to 1 s.
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
    bin.total_ns = saturating_add(bin.total_ns, duration);
  }
  return bins;
}

std::string track_text(const Session& session, SliceRef ref) {
  const SessionTrace& source = session.traces()[ref.trace];
  const trace::Track& track = source.trace->tracks()[session.lane_of(ref).track.value];
  const bool stream = track.kind == trace::TrackKind::kGpuStream;
  const std::string own =
      stream ? fmt::format("GPU {} stream {}", track.device, track.stream)
             : fmt::format("thread {}", printable(source.trace->string(track.tid)));
  return source.title.empty() ? own : source.title + " · " + own;
}

}  // namespace

size_t bin_of(const std::vector<HistogramBin>& histogram, int64_t duration_ns) {
  const auto after =
      std::upper_bound(histogram.begin(), histogram.end(), static_cast<double>(duration_ns),
                       [](double value, const HistogramBin& bin) { return value < bin.to_ns; });
  const auto index = static_cast<size_t>(after - histogram.begin());
  return std::min(index, histogram.empty() ? 0 : histogram.size() - 1);
}

FindResults find_results(const Session& session, const Search& search,
                         const std::atomic<bool>* cancel) {
  FindResults results;
  results.table = {"Find",
                   {{"Name", Unit::kText},
                    {"Duration", Unit::kDuration},
                    {"Begins at", Unit::kTime},
                    {"Track", Unit::kText}},
                   {}};
  std::vector<Hit> hits;
  std::vector<int64_t> durations;
  search.for_each(session, [&](SliceRef ref) {
    if (cancel && durations.size() % 65'536 == 0 && cancel->load()) return false;
    const int64_t duration = session.range_of(ref).span_ns();
    durations.push_back(duration);
    hits.push_back({ref, duration});
    return true;
  });
  results.spread = quantiles_of(durations);
  results.histogram = make_histogram(durations, results.spread);
  const auto longer = [](const Hit& left, const Hit& right) {
    return std::pair(right.duration_ns, left.ref) < std::pair(left.duration_ns, right.ref);
  };
  const auto end = hits.begin() + static_cast<std::ptrdiff_t>(std::min(hits.size(), kMostHits));
  std::partial_sort(hits.begin(), end, hits.end(), longer);
  for (auto hit = hits.begin(); hit != end; ++hit) {
    results.table.rows.push_back(
        {{std::string(session.name_of(hit->ref)), hit->duration_ns,
          session.range_of(hit->ref).begin_ns, track_text(session, hit->ref)},
         hit->ref,
         {}});
  }
  return results;
}

}  // namespace redline::viewer
