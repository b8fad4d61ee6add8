#include "viewer/widgets/roofline_view.h"

#include "tests/trace_text.h"
#include "trace/read/reader.h"
#include "viewer/widgets/testing_window.h"

namespace redline::viewer {
namespace {

using testing::on_stream;
using testing::TraceText;

class RooflineTab : public Window {
 protected:
  // Of each size a product of halves and one of BFloat16 that takes twice as long, on an H100.
  void open_products(const std::vector<int>& sizes) {
    TraceText text;
    text.top(R"("deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}])");
    uint32_t number = 0;
    for (const int size : sizes) {
      for (const char* type : {"Half", "BFloat16"}) {
        const int64_t at_ns = 500'000 * ++number, length_ns = (number % 2 == 0 ? 80 : 40) * size;
        text.cpu_op("aten::mm", at_ns, at_ns + 40'000,
                    {.args = fmt::format(R"("Input Dims": [[{0}, {0}], [{0}, {0}]], )"
                                         R"("Input type": ["c10::{1}", "c10::{1}"])",
                                         size, type)});
        text.runtime("cudaLaunchKernel", at_ns + 2'000, at_ns + 3'000, number);
        text.kernel("nvjet", at_ns + 5'000, at_ns + 5'000 + length_ns, on_stream(7, number));
      }
    }
    show_analysed(window_, loaded({*trace::parse_trace("one", text.str())}));
  }
  RooflineView& picture() { return *tables().findChild<RooflineView*>(); }
};

TEST_F(RooflineTab, AClickOnACircleMarksItsRow) {
  open_products({4096, 128});
  show_tab("Roofline");
  QCoreApplication::processEvents();
  ASSERT_EQ(picture().item_count(), 4);
  EXPECT_TRUE(picture().isVisible());
  std::set<int> marked;
  for (int item = 0; item < 4; ++item) {
    picture().choose(item);
    const auto rows = tables().current_view()->selectionModel()->selectedRows();
    ASSERT_EQ(rows.size(), 1);
    marked.insert(rows[0].row());
    EXPECT_EQ(picture().item_text(item).indexOf(rows[0].data().toString() + ": "), 0);
  }
  EXPECT_EQ(marked.size(), 4U) << "also where two types have the same name and sizes";
  picture().choose(0);
  QTest::mouseClick(&picture(), Qt::LeftButton, {}, picture().item_rect(3).center().toPoint());
  const auto rows = tables().current_view()->selectionModel()->selectedRows();
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0].data().toString(), QStringLiteral("mm 128x128, 128x128"));
}

TEST_F(RooflineTab, TheLineOfTheRoofIsPainted) {
  open_products({4096, 128});
  show_tab("Roofline");
  QCoreApplication::processEvents();
  const QImage image = picture().grab().toImage();
  int line = 0;
  const QRgb colour = Theme::light().graph.rgb();
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) line += image.pixel(x, y) == colour ? 1 : 0;
  }
  EXPECT_GT(line, 50);
}

TEST_F(RooflineTab, WithoutShapesThereIsNoTab) {
  open_two_ranks();
  for (int i = 0; i < tables().count(); ++i) {
    EXPECT_FALSE(tables().tabText(i) == "Roofline" && tables().isTabVisible(i));
  }
}

}  // namespace
}  // namespace redline::viewer
