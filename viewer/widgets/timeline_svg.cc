#include "viewer/widgets/timeline_svg.h"

#include <fmt/format.h>

#include <QFontMetrics>
#include <QString>

#include "viewer/models/format.h"
#include "viewer/models/lane_pixels.h"
#include "viewer/models/ruler.h"

namespace redline::viewer {
namespace {

constexpr int kNames = 230;
constexpr int kRuler = 22;
constexpr int kLeastLabel = 30;

std::string hex(const QColor& colour) { return colour.name().toStdString(); }

std::string escaped(const QString& text) { return text.toHtmlEscaped().toStdString(); }

class SvgTimeline {
 public:
  SvgTimeline(const ViewState& state, QSize size)
      : state_(state), theme_(state.theme()), size_(size), metrics_(ui_font(11)) {}

  std::string draw() {
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
        "font-family=\"Inter, sans-serif\" font-size=\"11\">\n",
        size_.width() + kNames, size_.height() + kRuler);
    rect(0, 0, size_.width() + kNames, size_.height() + kRuler, theme_.lanes);
    out_ += fmt::format("<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">\n", kNames, kRuler,
                        size_.width(), size_.height());
    for_each_row([this](const Row& row, int top) { draw_row(row, top); });
    out_ += "</svg>\n";
    draw_ruler();
    rect(0, 0, kNames, size_.height() + kRuler, theme_.panel);
    for_each_row([this](const Row& row, int top) { draw_name(row, top); });
    return out_ + "</svg>\n";
  }

 private:
  template <typename Draw>
  void for_each_row(const Draw& draw) const {
    for (const bool pinned : {false, true}) {
      for (const Row& row : state_.layout().rows()) {
        const int top = row.view_top(state_.scroll());
        if (row.pinned == pinned && top < size_.height() && top + row.height > 0) draw(row, top);
      }
    }
  }
  void rect(double x, double y, double width, double height, const QColor& colour,
            double opacity = 1) {
    out_ += fmt::format("<rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" fill=\"{}\"", x,
                        y, width, height, hex(colour));
    out_ += opacity < 1 ? fmt::format(" fill-opacity=\"{:.2f}\"/>\n", opacity) : "/>\n";
  }
  void text(double x, double y, const QString& words, int width, const QColor& colour) {
    const QString shown = metrics_.elidedText(words, Qt::ElideRight, width);
    out_ += fmt::format("<text x=\"{:g}\" y=\"{:g}\" fill=\"{}\">{}</text>\n", x, y, hex(colour),
                        escaped(shown));
  }

  void draw_row(const Row& row, int top) {
    rect(0, top, size_.width(), row.height, row.is_header() ? theme_.header : theme_.lanes);
    if (!row.is_header()) draw_track(row, top);
    rect(0, top + row.height - 1, size_.width(), 1, theme_.separator);
  }

  void draw_track(const Row& row, int top) {
    const SessionTrace& source = state_.session().traces()[row.trace];
    const TrackItem& item = state_.layout().item_of(row);
    const TimeAxis axis = source.local(state_.axis());
    if (item.kind == TrackItem::Kind::kGraph) {
      draw_graph(state_.derived().graphs[item.index].graph, axis, top + 3, row.height - 6);
    } else if (item.kind == TrackItem::Kind::kDevice) {
      const DeviceLane& lane = state_.derived().devices[item.index];
      draw_lane(lane.columns(), lane.pyramid(), axis, pixels_);
      draw_pixels(top + 2, row.height - 4);
    } else {
      const trace::Track& track = source.trace->tracks()[item.track.value];
      for (uint32_t depth = 0; depth < row.lanes; ++depth) {
        const uint32_t id = track.first_lane.value + depth;
        const trace::Lane& lane = source.trace->lanes()[id];
        draw_lane(source.lane_columns(lane), source.pyramids[id], axis, pixels_);
        const int y = top + static_cast<int>(depth) * Layout::kLaneHeight + 1;
        draw_pixels(y, Layout::kLaneHeight - 1);
        draw_labels(*source.trace, lane, y);
      }
    }
  }

  // Neighbouring columns that look the same are one rectangle.
  void draw_pixels(int top, int height) {
    const int width = static_cast<int>(pixels_.cover.size());
    const auto at = [&](int x) { return static_cast<size_t>(x); };
    for (int x = 0; x < width;) {
      const uint8_t cover = pixels_.cover[at(x)];
      const uint8_t slice_class = pixels_.slice_class[at(x)];
      int end = x + 1;
      while (end < width && pixels_.cover[at(end)] / 8 == cover / 8 &&
             pixels_.slice_class[at(end)] == slice_class &&
             (cover > 0) == (pixels_.cover[at(end)] > 0)) {
        ++end;
      }
      if (cover > 0) {
        rect(x, top, end - x, height, theme_.slice[slice_class], 0.28 + 0.72 * cover / 255.0);
      }
      x = end;
    }
    for (const SliceBox& box : pixels_.boxes) {
      rect(box.left, top, std::max(1.0, box.right - box.left - 0.5), height,
           theme_.slice[box.slice_class]);
    }
  }

  void draw_labels(const trace::Trace& trace, const trace::Lane& lane, int top) {
    for (const SliceBox& box : pixels_.boxes) {
      if (box.right - box.left < kLeastLabel) continue;
      const trace::StringId name = trace.slices().name[lane.first.value + box.slice];
      text(box.left + 4, top + 12.5,
           QString::fromStdString(printable(trace.string(name).substr(0, 300))),
           box.right - box.left - 8, theme_.label[box.slice_class]);
    }
  }

  void draw_graph(const Graph& graph, const TimeAxis& axis, int top, int height) {
    const double span = graph.high() - graph.low();
    std::string line;
    const auto columns = graph_columns(graph, axis);
    for (size_t x = 0; x < columns.size(); ++x) {
      if (!columns[x].drawn) continue;
      for (const double value : {columns[x].low, columns[x].high}) {
        const double share = span > 0 ? (value - graph.low()) / span : 0;
        line += fmt::format("{},{:.1f} ", x, top + height - share * height);
      }
    }
    out_ += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\"/>\n", line,
                        hex(theme_.graph));
  }

  void draw_ruler() {
    rect(kNames, 0, size_.width(), kRuler, theme_.lanes);
    for (const Tick& tick : ruler_ticks(state_.axis(), 0, 90)) {
      const double x = kNames + state_.axis().x_of(tick.time_ns);
      rect(x, tick.label.empty() ? 15 : 4, 1, tick.label.empty() ? 7 : 18, theme_.separator);
      if (!tick.label.empty())
        text(x + 4, 15, QString::fromStdString(tick.label), 90, theme_.muted);
    }
  }

  void draw_name(const Row& row, int top) {
    const bool header = row.is_header();
    const std::string title =
        header ? state_.layout().group_of(row).title : state_.layout().item_of(row).title;
    rect(0, top + kRuler + row.height - 1, kNames, 1, theme_.separator);
    text(header ? 12 : 34, top + kRuler + 15, QString::fromStdString(title), kNames - 44,
         theme_.text);
  }

  const ViewState& state_;
  const Theme& theme_;
  QSize size_;
  QFontMetrics metrics_;
  LanePixels pixels_;
  std::string out_;
};

}  // namespace

std::string timeline_svg(const ViewState& state, QSize size) {
  return SvgTimeline(state, size).draw();
}

}  // namespace redline::viewer
