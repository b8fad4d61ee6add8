#include "viewer/models/overview.h"

#include <algorithm>

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

// Operators on the host say nothing of a GPU's time: with a GPU only DataLoader counts there.
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

}  // namespace

std::vector<OverviewColumn> overview_columns(const Session& session, int width) {
  std::vector<OverviewColumn> columns(static_cast<size_t>(std::max(width, 0)));
  if (columns.empty() || session.range().span_ns() <= 0) return columns;
  const TimeAxis axis = TimeAxis{0, 1, width}.showing(session.range());
  const double share = 1.0 / static_cast<double>(session.traces().size());
  for (const SessionTrace& item : session.traces()) {
    const Cover cover = cover_of(item, item.local(axis));
    for (size_t c = 0; c < columns.size(); ++c) {
      if (cover.busy[c] > 0) columns[c].main_class = static_cast<SliceClass>(cover.main_class[c]);
      columns[c].busy += cover.busy[c] * share;
      columns[c].dataloader += cover.dataloader[c] * share;
    }
  }
  return columns;
}

}  // namespace redline::viewer
