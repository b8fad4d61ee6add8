#include "viewer/models/overview.h"

#include <algorithm>
#include <array>

#include "base/statistics.h"
#include "viewer/models/lane_pixels.h"

namespace redline::viewer {
namespace {

struct Cover {
  std::vector<double> busy;
  std::vector<double> dataloader;
  std::vector<uint8_t> main_class;

  explicit Cover(size_t width) : busy(width), dataloader(width), main_class(width) {}

  void add(size_t column, double share, uint8_t slice_class) {
    switch (static_cast<SliceClass>(slice_class)) {
      case SliceClass::kDataLoader:
        dataloader[column] = std::max(dataloader[column], share);
        break;
      case SliceClass::kOperator:
      case SliceClass::kCompute:
      case SliceClass::kCommunication:
      case SliceClass::kCopy:
        if (share > busy[column]) {
          busy[column] = share;
          main_class[column] = slice_class;
        }
        break;
      default:
        break;
    }
  }
};

bool has_gpu(const trace::Trace& trace) {
  for (const trace::Lane& lane : trace.lanes()) {
    if (lane.count > 0 && trace.tracks()[lane.track.value].kind == trace::TrackKind::kGpuStream) {
      return true;
    }
  }
  return false;
}

// With a GPU only the DataLoader counts on the host, because the host's operators tell nothing
// about the GPU's time.
bool counts(const trace::Track& track, uint8_t slice_class, bool gpu) {
  if (track.kind == trace::TrackKind::kGpuStream) return true;
  return !gpu || static_cast<SliceClass>(slice_class) == SliceClass::kDataLoader;
}

Cover cover_of(const SessionTrace& item, const TimeAxis& axis) {
  Cover cover(static_cast<size_t>(axis.width));
  LanePixels pixels;
  const bool gpu = has_gpu(*item.trace);
  for (size_t i = 0; i < item.trace->lanes().size(); ++i) {
    const trace::Lane& lane = item.trace->lanes()[i];
    const trace::Track& track = item.trace->tracks()[lane.track.value];
    draw_lane(item.lane_columns(lane), item.pyramids[i], axis, pixels);
    for (size_t c = 0; c < pixels.cover.size(); ++c) {
      if (pixels.cover[c] == 0 || !counts(track, pixels.colour[c], gpu)) continue;
      cover.add(c, pixels.cover[c] / 255.0, pixels.colour[c]);
    }
    for (const SliceBox& box : pixels.boxes) {
      if (!counts(track, box.colour, gpu)) continue;
      for (int c = box.left; c < box.right; ++c) {
        cover.add(static_cast<size_t>(c), 1, box.colour);
      }
    }
  }
  return cover;
}

Cover cover_of(const RankOutline& outline, const TimeAxis& axis) {
  Cover cover(static_cast<size_t>(axis.width));
  for (int c = 0; c < axis.width; ++c) {
    const OverviewColumn* column = outline.column_at(axis.time_at(c + 0.5));
    if (!column) continue;
    const auto at = static_cast<size_t>(c);
    cover.busy[at] = column->busy;
    cover.dataloader[at] = column->dataloader;
    cover.main_class[at] = static_cast<uint8_t>(column->main_class);
  }
  return cover;
}

}  // namespace

std::vector<OverviewColumn> overview_columns(const Session& session, int width) {
  std::vector<OverviewColumn> columns(static_cast<size_t>(std::max(width, 0)));
  if (columns.empty() || session.range().span_ns() <= 0) return columns;
  const TimeAxis axis = TimeAxis{0, 1, width}.showing(session.range());
  std::vector<int> recorded(columns.size());  // how many traces hold that time
  std::vector<std::array<double, kSliceClassCount>> busy_of(columns.size());
  for (const SessionTrace& item : session.traces()) {
    const auto work = item.work();
    if (!work) continue;
    const TimeAxis local = item.local(axis);
    const Cover cover = item.is_loaded ? cover_of(item, local) : cover_of(*item.outline, local);
    for (size_t c = 0; c < columns.size(); ++c) {
      const bool has_work = cover.busy[c] > 0 || cover.dataloader[c] > 0;
      if (has_work || work->contains(local.time_at(static_cast<double>(c) + 0.5))) ++recorded[c];
      busy_of[c][cover.main_class[c]] += cover.busy[c];
      columns[c].busy += cover.busy[c];
      columns[c].dataloader += cover.dataloader[c];
    }
  }
  for (size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].busy > 0) {
      const auto main = std::ranges::max_element(busy_of[c]);
      columns[c].main_class = static_cast<SliceClass>(main - busy_of[c].begin());
    }
    columns[c].busy /= std::max(recorded[c], 1);
    columns[c].dataloader /= std::max(recorded[c], 1);
  }
  return columns;
}

const OverviewColumn* RankOutline::column_at(int64_t time_ns) const {
  if (columns.empty() || work.span_ns() <= 0 || !work.contains(time_ns)) return nullptr;
  const double share =
      static_cast<double>(time_ns - work.begin_ns) / static_cast<double>(work.span_ns());
  const auto at = static_cast<size_t>(share * static_cast<double>(columns.size()));
  return &columns[std::min(at, columns.size() - 1)];
}

std::shared_ptr<const RankOutline> outline_of(const std::shared_ptr<const trace::Trace>& trace) {
  constexpr int kColumns = 512;
  const Session session({trace});
  const SessionTrace& item = session.traces().front();
  RankOutline outline{trace->event_count(),
                      trace->slice_count(),
                      {trace->issues().begin(), trace->issues().end()},
                      {saturating_sum(session.range().begin_ns, item.origin_ns),
                       saturating_sum(session.range().end_ns, item.origin_ns)},
                      overview_columns(session, kColumns)};
  return std::make_shared<const RankOutline>(std::move(outline));
}

}  // namespace redline::viewer
