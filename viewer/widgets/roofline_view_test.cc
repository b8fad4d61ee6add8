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
  // A large product and a small one, on an H100.
  void open_products() {
    TraceText text;
    text.top(R"("deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}])");
    uint32_t number = 0;
    for (const int size : {4096, 128}) {
      const int64_t at_ns = 200'000 * ++number;
      text.cpu_op("aten::mm", at_ns, at_ns + 40'000,
                  {.args = fmt::format(R"("Input Dims": [[{0}, {0}], [{0}, {0}]], )"
                                       R"("Input type": ["c10::Half", "c10::Half"])",
                                       size)});
      text.runtime("cudaLaunchKernel", at_ns + 2'000, at_ns + 3'000, number);
      text.kernel("nvjet", at_ns + 5'000, at_ns + 5'000 + 40 * size, on_stream(7, number));
    }
    show_analysed(window_, loaded({*trace::parse_trace("one", text.str())}));
  }
  RooflineView& picture() { return *tables().findChild<RooflineView*>(); }
};

TEST_F(RooflineTab, AClickOnACircleMarksItsRow) {
  open_products();
  show_tab("Roofline");
  QCoreApplication::processEvents();
  ASSERT_EQ(picture().item_count(), 2);
  EXPECT_TRUE(picture().isVisible());
  for (int item = 0; item < 2; ++item) {
    QTest::mouseClick(&picture(), Qt::LeftButton, {}, picture().item_rect(item).center().toPoint());
    const auto rows = tables().current_view()->selectionModel()->selectedRows();
    ASSERT_EQ(rows.size(), 1);
    const std::string name = picture().picture().names[static_cast<size_t>(item)];
    EXPECT_EQ(rows[0].data().toString().toStdString(), name);
    EXPECT_EQ(picture().item_text(item).toStdString().rfind(name + ": ", 0), 0U);
  }
}

TEST_F(RooflineTab, TheLineOfTheRoofIsPainted) {
  open_products();
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
