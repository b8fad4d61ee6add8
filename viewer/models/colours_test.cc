#include "viewer/models/colours.h"

#include <set>

#include "viewer/models/analyse.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

std::vector<std::string> words_of(const std::vector<LegendEntry>& entries) {
  std::vector<std::string> words;
  for (const LegendEntry& entry : entries) words.push_back(entry.words);
  return words;
}

/// The colour in which the first slice of this name is painted.
int painted(const Session& session, const Colours& colours, uint32_t trace, const char* name) {
  const SliceRef ref = slice_named(session, trace, name);
  const SessionTrace& item = session.traces()[trace];
  const trace::Lane& lane = session.lane_of(ref);
  const TimeAxis axis = TimeAxis{0, 1, 2000}.showing(session.range());
  LanePixels pixels;
  draw_lane(item.lane_columns(lane), LanePyramid(), item.local(axis), pixels);
  colours.colour_by_name(pixels, trace, *item.trace, lane);
  for (const SliceBox& box : pixels.boxes) {
    if (lane.first.value + box.slice == ref.slice.value) return box.colour;
  }
  return -1;
}

TEST(Colours, ClassesOfTheLegendAreThoseThatAreThere) {
  const Session session = two_ranks();
  EXPECT_EQ(words_of(analyse_session(session).colours->classes()),
            (std::vector<std::string>{"compute", "communication", "DataLoader", "operators",
                                      "annotations", "CUDA runtime"}));
  EXPECT_TRUE(Colours().classes().empty());
}

TEST(Colours, TheRuntimeHasTheNameOfItsMaker) {
  const auto hip = TestTrace(0).slice("cuda_runtime", "hipLaunchKernel", 1, 1, 0, 5).read();
  const auto words = [](const Session& session) {
    return words_of(analyse_session(session).colours->classes()).back();
  };
  EXPECT_EQ(words(Session({hip})), "HIP runtime");
  EXPECT_EQ(words(Session({hip, training_trace(1).read()}, 1)), "runtime");
  const auto intel = TestTrace(0).slice("xpu_runtime", "urEnqueueKernelLaunch", 1, 1, 0, 5).read();
  EXPECT_EQ(words(Session({intel})), "runtime");
}

TEST(Colours, TheLongestNamesDifferAndAreTheSameInEveryTrace) {
  const Session session = two_ranks();
  const auto colours = analyse_session(session).colours;
  EXPECT_EQ(words_of(colours->names()).front(), "gemm");
  std::set<int> different;
  for (const LegendEntry& entry : colours->names()) {
    different.insert(entry.colour);
    EXPECT_GE(entry.colour, kSliceClassCount);
    EXPECT_LT(entry.colour, kColourCount);
    for (const uint32_t trace : {0U, 1U}) {
      EXPECT_EQ(painted(session, *colours, trace, entry.words.c_str()), entry.colour)
          << entry.words;
    }
  }
  EXPECT_EQ(different.size(), colours->names().size());
  const int by_letters = painted(session, *colours, 0, "ProfilerStep#5");
  EXPECT_GE(by_letters, kSliceClassCount);
  EXPECT_EQ(painted(session, *colours, 1, "ProfilerStep#5"), by_letters);
}

TEST(Colours, OfColumnsAndBoxesAreThoseOfTheirSlices) {
  const Session session = two_ranks();
  const auto colours = analyse_session(session).colours;
  const SessionTrace& item = session.traces()[1];
  const SliceRef gemm = slice_named(session, 1, "gemm");
  const trace::Lane& lane = session.lane_of(gemm);
  LanePixels pixels;
  pixels.reset(2);
  pixels.cover[0] = 5;
  pixels.slice = {1, 1};
  pixels.boxes.push_back({1, 0, 0, 1});
  colours->colour_by_name(pixels, 9, *item.trace, lane);
  EXPECT_EQ(pixels.colour[0], 0) << "a trace whose names are not known yet";
  colours->colour_by_name(pixels, 1, *item.trace, lane);
  const int expected = colours->names().front().colour;
  EXPECT_EQ(pixels.colour[0], expected);
  EXPECT_EQ(pixels.colour[1], 0) << "nothing is there";
  EXPECT_EQ(pixels.boxes[0].colour, expected);
}

}  // namespace
}  // namespace redline::viewer
