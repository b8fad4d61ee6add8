// Tests what the timeline paints, where and in which order, without looking at pixels.
#include "viewer/widgets/lanes_painter.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "viewer/models/analyse.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

struct Painted {
  enum class What { kFill, kLines, kLabel, kClip };
  What what = What::kFill;
  QRect rect;
  QColor colour;
  std::string text;
};

class Recorder final : public LanesSurface {
 public:
  using LanesSurface::LanesSurface;

  void clip_above(int top) override {
    all.push_back({Painted::What::kClip, {0, top, width(), height() - top}, {}, {}});
  }
  void fill(const QRect& rect, const QColor& colour) override {
    all.push_back({Painted::What::kFill, rect, colour, {}});
  }
  void lines(int top, int bottom, std::span<const uint32_t> line) override {
    EXPECT_EQ(line.size(), static_cast<size_t>(width()));
    all.push_back({Painted::What::kLines, {0, top, width(), bottom - top}, {}, {}});
  }
  void label(QPoint at, const QImage& picture, std::string_view text,
             const QColor& colour) override {
    all.push_back({Painted::What::kLabel, {at, picture.size()}, colour, std::string(text)});
  }

  [[nodiscard]] std::vector<Painted> of(Painted::What what) const {
    std::vector<Painted> found;
    std::copy_if(all.begin(), all.end(), std::back_inserter(found),
                 [what](const Painted& one) { return one.what == what; });
    return found;
  }

  std::vector<Painted> all;
};

class Painting : public ::testing::Test {
 protected:
  void open(Session session, QSize size) {
    session_ = std::make_unique<Session>(std::move(session));
    layout_ = Layout(*session_, size.height());
    axis_ = TimeAxis{.begin_ns = 0, .span_ns = 1, .width = size.width()};
    axis_ = axis_.showing(session_->range());
    size_ = size;
  }
  const Recorder& paint(int scroll = 0, double scale = 1) {
    recorder_ = std::make_unique<Recorder>(size_ * scale);
    LanesPainter painter(Theme::light());
    painter.paint_onto(*recorder_, Scene{*session_, derived_, layout_, nullptr, axis_, scroll},
                       scale);
    return *recorder_;
  }
  [[nodiscard]] size_t lanes_shown() const {
    size_t lanes = 0;
    for (const Row& row : layout_.rows()) lanes += row.lanes;
    return lanes;
  }

  std::unique_ptr<Session> session_;
  DerivedTracks derived_;
  Layout layout_;
  TimeAxis axis_;
  QSize size_;
  std::unique_ptr<Recorder> recorder_;
};

TEST_F(Painting, EachLaneOnceAndEachWideSliceItsName) {
  open(two_ranks(), {1200, 900});
  const Recorder& all = paint();
  EXPECT_EQ(all.of(Painted::What::kLines).size(), lanes_shown());
  const auto fills = all.of(Painted::What::kFill);
  const auto count = [&](const QColor& colour) {
    return static_cast<size_t>(std::count_if(
        fills.begin(), fills.end(), [&](const Painted& one) { return one.colour == colour; }));
  };
  EXPECT_EQ(count(Theme::light().separator), layout_.rows().size());
  EXPECT_EQ(count(Theme::light().header), layout_.groups().size());
  const auto labels = all.of(Painted::What::kLabel);
  const auto named = [&](const std::string& name) {
    return std::count_if(labels.begin(), labels.end(),
                         [&](const Painted& one) { return one.text == name; });
  };
  EXPECT_EQ(named("ProfilerStep#5"), 2) << "of each rank";
  EXPECT_EQ(named("gemm"), 4);
}

TEST_F(Painting, AFoldedGpuStillShowsWhatItDid) {
  open(two_ranks(), {1200, 900});
  derived_ = *analyse_session(*session_).derived;
  layout_.add(*session_, derived_);
  layout_.fold_all(true);
  const auto strips = paint().of(Painted::What::kLines);
  ASSERT_EQ(strips.size(), 2U) << "of each rank's GPU";
  for (const Painted& strip : strips) {
    const Row* row = layout_.row_at(strip.rect.top());
    ASSERT_NE(row, nullptr);
    EXPECT_TRUE(row->is_header());
    EXPECT_EQ(layout_.group_of(*row).device, 0);
    EXPECT_GE(strip.rect.top(), row->top + Layout::kFoldedTop) << "below the words";
  }
}

TEST_F(Painting, AMarkIsALineWithItsNameWhereThereIsRoom) {
  const auto mark = [](const std::string& name, int at_us) {
    return fmt::format(R"({{"ph":"i","name":"{}","pid":1,"tid":1,"ts":{}}})", name,
                       1'000'000 + at_us);
  };
  TestTrace trace(0);
  trace.slice("cpu_op", "aten::mm", 1, 1, 0, 100);
  for (const auto& [name, at_us] : {std::pair("crowded", 20), {"epoch 2", 21}, {"last", 90}}) {
    trace.raw(mark(name, at_us));
  }
  open(Session({trace.read()}), {1000, 300});
  derived_ = *analyse_session(*session_).derived;
  layout_.add(*session_, derived_);
  const Recorder& all = paint();
  const auto is_marks = [&](const Row& row) {
    return !row.is_header() && layout_.item_of(row).kind == TrackItem::Kind::kMarks;
  };
  const Row& row = *std::ranges::find_if(layout_.rows(), is_marks);
  std::vector<int> lines;
  for (const Painted& fill : all.of(Painted::What::kFill)) {
    if (fill.colour != Theme::light().accent) continue;
    lines.push_back(fill.rect.left());
    EXPECT_GE(fill.rect.top(), row.top);
    EXPECT_LE(fill.rect.bottom(), row.top + row.height);
  }
  const auto column = [&](int at_us) { return static_cast<int>(axis_.x_of(at_us * 1000)); };
  EXPECT_EQ(lines, (std::vector{column(20), column(21), column(90)}));
  std::vector<std::string> names;
  for (const Painted& label : all.of(Painted::What::kLabel)) {
    if (label.rect.top() < row.top + row.height) names.push_back(label.text);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"epoch 2", "last"}));
}

TEST_F(Painting, NothingLeavesItsPlace) {
  for (const double scale : {1.0, 2.0}) {
    for (const int scroll : {0, 37}) {
      open(two_ranks(), {800, 260});
      const Recorder& all = paint(scroll, scale);
      const QRect view(0, 0, all.width(), all.height());
      ASSERT_FALSE(all.all.empty());
      for (const Painted& one : all.of(Painted::What::kLines)) EXPECT_TRUE(view.contains(one.rect));
      for (const Painted& one : all.of(Painted::What::kFill))
        EXPECT_TRUE(view.intersects(one.rect));
      for (const Painted& one : all.of(Painted::What::kLabel)) {
        EXPECT_GE(one.rect.left(), 0);
        EXPECT_LE(one.rect.right(), view.right()) << one.text;
        EXPECT_LE(one.rect.height(), Layout::kLaneHeight * scale) << one.text;
      }
    }
  }
}

TEST_F(Painting, NamesOfOneLaneDoNotOverlapAndComeAfterTheirLane) {
  open(two_ranks(), {1200, 900});
  const Recorder& all = paint();
  QRect lane;
  int free_from = 0;
  size_t labels = 0;
  for (const Painted& one : all.all) {
    if (one.what == Painted::What::kLines) {
      lane = one.rect;
      free_from = 0;
    } else if (one.what == Painted::What::kLabel) {
      EXPECT_TRUE(lane.contains(one.rect.center())) << one.text;
      EXPECT_GE(one.rect.left(), free_from) << one.text;
      free_from = one.rect.right() + 1;
      ++labels;
    }
  }
  EXPECT_GT(labels, 10U);
}

TEST_F(Painting, PinnedTracksComeFirstAndStayFreeOfTheRest) {
  open(two_ranks(), {1200, 300});
  layout_.set_pinned(layout_.rows().back().id, true);
  const int pinned = layout_.pinned_height();
  ASSERT_GT(pinned, 0);
  const Recorder& all = paint(50);
  const auto clip = std::find_if(all.all.begin(), all.all.end(), [](const Painted& one) {
    return one.what == Painted::What::kClip;
  });
  ASSERT_NE(clip, all.all.end());
  EXPECT_EQ(clip->rect.top(), pinned);
  for (auto one = all.all.begin(); one != clip; ++one) EXPECT_LT(one->rect.bottom(), pinned);
  for (auto one = clip; one != all.all.end(); ++one) {
    EXPECT_GE(one->rect.bottom(), pinned);
    if (one->what == Painted::What::kLines) {
      EXPECT_GE(one->rect.top(), pinned);
    }
  }
}

TEST_F(Painting, TheCostOfNamesIsBounded) {
  TestTrace trace(0);
  for (int thread = 0; thread < 40; ++thread) {
    for (int i = 0; i < 100; ++i) trace.slice("cpu_op", "name", 1, thread, i * 10.0, 9.5);
  }
  open(Session({trace.read()}), {8000, 2000});
  ASSERT_EQ(layout_.rows().size(), 41U);
  EXPECT_EQ(paint().of(Painted::What::kLabel).size(), 2000U);
}

}  // namespace
}  // namespace redline::viewer
