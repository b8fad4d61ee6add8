// The line under the lanes that says what their colours mean, and changes that: by class or by
// name.
#pragma once

#include <QWidget>

#include "viewer/widgets/items_view.h"
#include "viewer/widgets/view_state.h"

namespace redline::viewer {

/// The colours with their words, as many as there is room for; a click on a name finds it. If some
/// have no room, "…" ends the line, and its tooltip has the words of all.
class LegendEntries : public ItemsView {
  Q_OBJECT

 public:
  explicit LegendEntries(ViewState& state);

  [[nodiscard]] int item_count() const override { return static_cast<int>(places().size()); }
  [[nodiscard]] QString item_text(int item) const override;
  [[nodiscard]] QRectF item_rect(int item) const override;
  void choose(int item) override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  [[nodiscard]] int item_at(QPointF at) const override;

 private:
  struct Place {
    QRect rect;
    const LegendEntry* entry;  ///< null: "…"
  };

  [[nodiscard]] const std::vector<LegendEntry>& entries() const;
  [[nodiscard]] std::vector<Place> places() const;
  [[nodiscard]] const LegendEntry* entry(int item) const {
    return places()[static_cast<size_t>(item)].entry;
  }
  [[nodiscard]] QString all_words(const QString& between) const;
  void show_entries();

  ViewState& state_;
};

class Legend : public QWidget {
  Q_OBJECT

 public:
  static constexpr int kHeight = 23;

  explicit Legend(ViewState& state);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Theme& theme_;
};

}  // namespace redline::viewer
