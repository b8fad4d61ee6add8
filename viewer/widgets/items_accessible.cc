#include <QAccessibleWidget>
#include <QPointer>
#include <QWindow>
#include <vector>

#include "viewer/widgets/items_view.h"

namespace redline::viewer {
namespace {

class ItemAccessible final : public QAccessibleInterface, public QAccessibleActionInterface {
 public:
  ItemAccessible(ItemsView* view, int item) : view_(view), item_(item) {}

  [[nodiscard]] int item() const { return item_; }

  [[nodiscard]] bool isValid() const override { return view_ && item_ < view_->item_count(); }
  [[nodiscard]] QObject* object() const override { return nullptr; }
  [[nodiscard]] QWindow* window() const override {
    return view_ ? view_->window()->windowHandle() : nullptr;
  }
  [[nodiscard]] QAccessibleInterface* parent() const override {
    return QAccessible::queryAccessibleInterface(view_);
  }
  [[nodiscard]] QAccessibleInterface* child(int /*index*/) const override { return nullptr; }
  [[nodiscard]] QAccessibleInterface* childAt(int /*x*/, int /*y*/) const override {
    return nullptr;
  }
  [[nodiscard]] int childCount() const override { return 0; }
  [[nodiscard]] int indexOfChild(const QAccessibleInterface* /*child*/) const override {
    return -1;
  }
  [[nodiscard]] QString text(QAccessible::Text kind) const override {
    return isValid() && kind == QAccessible::Name ? view_->item_text(item_) : QString();
  }
  void setText(QAccessible::Text /*kind*/, const QString& /*text*/) override {}
  [[nodiscard]] QRect rect() const override {
    if (!isValid()) return {};
    const QRect place = view_->item_rect(item_).toAlignedRect();
    return {view_->mapToGlobal(place.topLeft()), place.size()};
  }
  [[nodiscard]] QAccessible::Role role() const override { return QAccessible::ListItem; }
  [[nodiscard]] QAccessible::State state() const override {
    QAccessible::State state;
    state.invalid = !isValid();
    state.focusable = true;
    state.focused = isValid() && view_->hasFocus() && view_->current() == item_;
    return state;
  }

  void* interface_cast(QAccessible::InterfaceType type) override {
    return type == QAccessible::ActionInterface ? static_cast<QAccessibleActionInterface*>(this)
                                                : nullptr;
  }
  [[nodiscard]] QStringList actionNames() const override { return {pressAction()}; }
  void doAction(const QString& name) override {
    if (isValid() && name == pressAction()) view_->choose(item_);
  }
  [[nodiscard]] QStringList keyBindingsForAction(const QString& /*name*/) const override {
    return {};
  }

 private:
  QPointer<ItemsView> view_;
  int item_;
};

/// Shows the view to screen readers as a list of items that can be pressed.
class ItemsAccessible final : public QAccessibleWidget {
 public:
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

ItemsAccessible::~ItemsAccessible() {
  for (const QAccessible::Id id : children_) QAccessible::deleteAccessibleInterface(id);
}

QAccessibleInterface* ItemsAccessible::child(int index) const {
  if (index < 0 || index >= childCount()) return nullptr;
  while (children_.size() <= static_cast<size_t>(index)) {
    children_.push_back(QAccessible::registerAccessibleInterface(
        new ItemAccessible(&view(), static_cast<int>(children_.size()))));
  }
  return QAccessible::accessibleInterface(children_[static_cast<size_t>(index)]);
}

int ItemsAccessible::indexOfChild(const QAccessibleInterface* child) const {
  const auto* item = dynamic_cast<const ItemAccessible*>(child);
  return item ? item->item() : -1;
}

QAccessibleInterface* ItemsAccessible::focusChild() const {
  return view().hasFocus() ? child(view().current()) : nullptr;
}

QAccessibleInterface* ItemsAccessible::childAt(int x, int y) const {
  for (int i = 0; i < childCount(); ++i) {
    QAccessibleInterface* item = child(i);
    if (item->rect().contains(x, y)) return item;
  }
  return nullptr;
}

QAccessibleInterface* make_items_accessible(const QString& /*class_name*/, QObject* object) {
  auto* view = qobject_cast<ItemsView*>(object);
  return view ? new ItemsAccessible(view) : nullptr;
}

}  // namespace

// May be called again: Qt ignores a factory that it has already.
void install_items_accessible() { QAccessible::installFactory(make_items_accessible); }

}  // namespace redline::viewer
