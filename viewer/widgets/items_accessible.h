// An ItemsView as a screen reader finds it: a list of items that can be pressed.
#pragma once

#include <QAccessibleWidget>
#include <vector>

#include "viewer/widgets/items_view.h"

namespace redline::viewer {

class ItemsAccessible final : public QAccessibleWidget {
 public:
  /// Once for all views.
  static void install();

  explicit ItemsAccessible(ItemsView* view) : QAccessibleWidget(view, QAccessible::List) {}
  ~ItemsAccessible() override;

  [[nodiscard]] int childCount() const override { return view().item_count(); }
  [[nodiscard]] QAccessibleInterface* child(int index) const override;
  [[nodiscard]] int indexOfChild(const QAccessibleInterface* child) const override;
  [[nodiscard]] QAccessibleInterface* focusChild() const override;
  [[nodiscard]] QAccessibleInterface* childAt(int x, int y) const override;

 private:
  [[nodiscard]] ItemsView& view() const { return static_cast<ItemsView&>(*widget()); }

  mutable std::vector<QAccessible::Id> children_;  ///< Qt asks for them by const functions
};

}  // namespace redline::viewer
