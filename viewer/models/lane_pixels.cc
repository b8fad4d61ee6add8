#include "viewer/models/lane_pixels.h"

#include <algorithm>
#include <cmath>

namespace redline::viewer {
namespace {

// In the exact mode, so many slices of a pixel column are added up; the rest is estimated.
constexpr int kMaxSlicesPerColumn = 12;

// This is called half a million times a frame. Without SSE 4.1, floor and lround would be calls of
// the library.
int floor_int(double x) {
  const int whole = static_cast<int>(std::clamp(x, -1e9, 1e9));
  return whole - (x < whole ? 1 : 0);
}

uint8_t to_cover(double share) {
  return static_cast<uint8_t>(std::clamp(static_cast<int>(share * 255 + 0.5), 1, 255));
}

int clamped_column(double x, int width) { return std::clamp(floor_int(x), 0, width); }

/// TimeAxis::x_of(), with the division done only once.
struct Scale {
  int64_t begin_ns;
  double pixels_per_ns;

  explicit Scale(const TimeAxis& axis)
      : begin_ns(axis.begin_ns), pixels_per_ns(1.0 / axis.ns_per_pixel()) {}
  [[nodiscard]] double x_of(int64_t time_ns) const {
    return static_cast<double>(saturating_sub(time_ns, begin_ns)) * pixels_per_ns;
  }
};

size_t first_ending_after(const LaneColumns& lane, size_t from, int64_t time_ns) {
  // It gallops, because the next pixel's slice is near; a binary search over the whole lane would
  // take longer.
  const auto ends = lane.end_ns;
  size_t step = 1;
  while (from + step < ends.size() && ends[from + step] <= time_ns) step *= 2;
  const auto low = ends.begin() + static_cast<std::ptrdiff_t>(from + step / 2);
  const auto high = ends.begin() + static_cast<std::ptrdiff_t>(std::min(from + step, ends.size()));
  return static_cast<size_t>(std::upper_bound(low, high, time_ns) - ends.begin());
}

/// Adds up narrow slices, column by column from the left, and writes a column when it is complete.
class Columns {
 public:
  Columns(LanePixels& pixels, int width) : pixels_(pixels), width_(width) {}
  ~Columns() { write(); }
  Columns(const Columns&) = delete;
  Columns& operator=(const Columns&) = delete;

  void add(int column, double share, uint8_t slice_class, uint32_t slice) {
    if (column != column_) {
      write();
      column_ = column;
      sum_ = 0;
      largest_ = -1;
      count_ = 0;
    }
    sum_ += share;
    ++count_;
    if (share > largest_) {
      largest_ = share;
      slice_class_ = slice_class;
      slice_ = slice;
    }
  }
  [[nodiscard]] bool full(int column) const {
    return column == column_ && count_ >= kMaxSlicesPerColumn;
  }
  /// Slices up to `share` of the column's width were added. Takes the rest of the column to be
  /// alike.
  void estimate_rest(double share) {
    if (share > 0 && share < 1) sum_ = std::min(1.0, sum_ / share);
  }

 private:
  void write() {
    if (column_ < 0 || column_ >= width_ || count_ == 0) return;
    pixels_.cover[static_cast<size_t>(column_)] = to_cover(sum_);
    pixels_.colour[static_cast<size_t>(column_)] = slice_class_;
    pixels_.slice[static_cast<size_t>(column_)] = slice_;
  }

  LanePixels& pixels_;
  int width_;
  int column_ = -1;
  uint8_t slice_class_ = 0;
  uint32_t slice_ = 0;
  double sum_ = 0;
  double largest_ = -1;
  int count_ = 0;
};

void add_box(LanePixels& pixels, uint32_t slice, uint8_t slice_class, double x0, double x1,
             int width) {
  const int left = clamped_column(x0 + 0.5, width);
  const int right = clamped_column(x1 + 0.5, width);
  if (right > left) pixels.boxes.push_back({slice, slice_class, left, right});
}

void draw_slices(const LaneColumns& lane, const TimeAxis& axis, LanePixels& pixels) {
  Columns columns(pixels, axis.width);
  const Scale scale(axis);
  const int64_t view_end = axis.end_ns();
  // The nanosecond includes a slice of no length at the left edge.
  size_t i = first_ending_after(lane, 0, saturating_sub(axis.begin_ns, 1));
  while (i < lane.size() && lane.begin_ns[i] < view_end) {
    const double x0 = scale.x_of(lane.begin_ns[i]);
    const double x1 = scale.x_of(lane.end_ns[i]);
    const uint8_t slice_class = lane.classes[i];
    if (x1 - x0 >= LanePixels::kBoxPixels) {
      add_box(pixels, static_cast<uint32_t>(i), slice_class, x0, x1, axis.width);
      ++i;
      continue;
    }
    const int first = floor_int(x0);
    for (int column = first; column == first || column < x1; ++column) {
      const double share = std::min(x1, column + 1.0) - std::max(x0, static_cast<double>(column));
      columns.add(column, share, slice_class, static_cast<uint32_t>(i));
    }
    ++i;
    const int last = floor_int(x1);
    if (columns.full(last)) {
      columns.estimate_rest(x1 - last);
      const int64_t next_column = saturating_sub(axis.time_at(last + 1.0), 1);
      if (i < lane.size() && lane.end_ns[i] <= next_column) {
        i = first_ending_after(lane, i, next_column);
      }
    }
  }
}

/// Finds runs of buckets that hold the same slice. Such a slice is wide enough to be a box.
class BoxFinder {
 public:
  BoxFinder(const LaneColumns& lane, const TimeAxis& axis, LanePixels& pixels)
      : lane_(lane), axis_(axis), pixels_(pixels) {}

  void see(uint32_t slice) {
    if (slice == previous_ && slice != LanePyramid::kNoSlice && slice != boxed_) try_box(slice);
    previous_ = slice;
  }

 private:
  void try_box(uint32_t slice) {
    boxed_ = slice;
    const double x0 = axis_.x_of(lane_.begin_ns[slice]);
    const double x1 = axis_.x_of(lane_.end_ns[slice]);
    if (x1 - x0 < LanePixels::kBoxPixels) return;
    add_box(pixels_, slice, lane_.classes[slice], x0, x1, axis_.width);
  }

  const LaneColumns& lane_;
  const TimeAxis& axis_;
  LanePixels& pixels_;
  uint32_t previous_ = LanePyramid::kNoSlice;
  uint32_t boxed_ = LanePyramid::kNoSlice;
};

/// Distributes buckets of 0.5 to 1 pixel over the columns that they overlap.
class BucketColumns {
 public:
  explicit BucketColumns(LanePixels& pixels) : pixels_(pixels) {}

  void add(double x0, double x1, uint8_t cover, uint8_t slice_class, uint32_t slice) {
    const int first = floor_int(x0);
    const int last = floor_int(x1);
    if (first == last) {
      add_to(first, x1 - x0, cover, slice_class, slice);
    } else {
      add_to(first, first + 1 - x0, cover, slice_class, slice);
      add_to(last, x1 - last, cover, slice_class, slice);
    }
  }

 private:
  void add_to(int column, double width, uint8_t cover, uint8_t slice_class, uint32_t slice) {
    if (column < 0 || static_cast<size_t>(column) >= pixels_.cover.size()) return;
    const size_t index = static_cast<size_t>(column);
    const double share = cover * width;
    uint8_t& sum = pixels_.cover[index];
    sum = static_cast<uint8_t>(std::clamp(sum + static_cast<int>(share + 0.5), 1, 255));
    double& largest = largest_[column & 1];  // two columns are open at a time
    if (column_[column & 1] != column) largest = -1;
    column_[column & 1] = column;
    if (share > largest) {
      largest = share;
      pixels_.colour[index] = slice_class;
      pixels_.slice[index] = slice;
    }
  }

  LanePixels& pixels_;
  double largest_[2] = {-1, -1};
  int column_[2] = {-1, -1};
};

void draw_buckets(const LaneColumns& lane, const LanePyramid::Level& level, int64_t origin_ns,
                  const TimeAxis& axis, LanePixels& pixels) {
  const double bucket_pixels = std::ldexp(1.0, level.shift) / axis.ns_per_pixel();
  const double x_origin = axis.x_of(origin_ns);
  const double count = static_cast<double>(level.size());
  const auto bucket_at = [&](double x) {
    return static_cast<size_t>(std::clamp((x - x_origin) / bucket_pixels, 0.0, count));
  };
  BoxFinder boxes(lane, axis, pixels);
  BucketColumns columns(pixels);
  const size_t first = bucket_at(0);
  const size_t end = std::min(bucket_at(axis.width) + 1, level.size());
  for (size_t b = first > 0 ? first - 1 : 0; b < end; ++b) {
    boxes.see(level.slice[b]);
    if (level.cover[b] == 0) continue;
    const double x = x_origin + static_cast<double>(b) * bucket_pixels;
    columns.add(x, x + bucket_pixels, level.cover[b], level.slice_class[b], level.slice[b]);
  }
}

}  // namespace

void LanePixels::reset(int width) {
  cover.assign(static_cast<size_t>(width), 0);
  colour.assign(static_cast<size_t>(width), 0);
  slice.assign(static_cast<size_t>(width), 0);
  boxes.clear();
}

void draw_lane(const LaneColumns& lane, const LanePyramid& pyramid, const TimeAxis& axis,
               LanePixels& pixels) {
  pixels.reset(axis.width);
  if (lane.size() == 0) return;
  if (const LanePyramid::Level* level = pyramid.level_for(axis.ns_per_pixel())) {
    draw_buckets(lane, *level, pyramid.origin_ns(), axis, pixels);
  } else {
    draw_slices(lane, axis, pixels);
  }
}

uint32_t slice_at(const LaneColumns& lane, int64_t time_ns, int64_t tolerance_ns) {
  const auto after = std::upper_bound(lane.end_ns.begin(), lane.end_ns.end(), time_ns);
  const size_t next = static_cast<size_t>(after - lane.end_ns.begin());
  if (next < lane.size() && lane.begin_ns[next] <= time_ns) return static_cast<uint32_t>(next);
  int64_t best = saturating_sum(tolerance_ns, 1);
  uint32_t found = LanePyramid::kNoSlice;
  if (next < lane.size()) {
    if (const int64_t gap = saturating_sub(lane.begin_ns[next], time_ns); gap < best) {
      best = gap;
      found = static_cast<uint32_t>(next);
    }
  }
  if (next > 0) {
    const int64_t gap = saturating_sub(time_ns, lane.end_ns[next - 1]);
    if (gap < best) found = static_cast<uint32_t>(next - 1);
  }
  return found;
}

}  // namespace redline::viewer
