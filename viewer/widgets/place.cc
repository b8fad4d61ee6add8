#include "viewer/widgets/place.h"

#include <QActionGroup>
#include <QMenu>

#include "viewer/widgets/user_settings.h"

namespace redline::viewer {
namespace {

constexpr double kShare = 0.35;  // of the room, at another side than the first

Qt::Orientation orientation_of(Place::Side side) {
  return side == Place::kLeft || side == Place::kRight ? Qt::Horizontal : Qt::Vertical;
}

}  // namespace

Place::Place(QSplitter& splitter, QWidget& part, Side first, int first_size, const QString& name)
    : QObject(&splitter),
      splitter_(splitter),
      part_(part),
      first_(first),
      first_size_(first_size),
      side_(first),
      key_(QStringLiteral("places/") + name) {
  splitter_.setObjectName(name);
  splitter_.setHandleWidth(1);
  put(first);
  connect(&splitter_, &QSplitter::splitterMoved, this, &Place::remember);
}

void Place::put(Side side) {
  side_ = side;
  const Qt::Orientation orientation = orientation_of(side);
  splitter_.setOrientation(orientation);
  const bool is_first = side == kLeft || side == kAbove;
  splitter_.insertWidget(is_first ? 0 : 1, &part_);
  const int there = orientation == Qt::Horizontal ? splitter_.width() : splitter_.height();
  const int size = orientation == orientation_of(first_)
                       ? first_size_
                       : static_cast<int>(static_cast<double>(there) * kShare);
  const int rest = std::max(there - size, 1);
  splitter_.setSizes(is_first ? QList{size, rest} : QList{rest, size});
}

void Place::move_to(Side side) {
  if (side == side_) return;
  put(side);
  remember();
}

void Place::remember() {
  is_chosen_ = true;
  if (!is_kept_) return;
  user_settings().setValue(key_ + QStringLiteral("/side"), static_cast<int>(side_));
  user_settings().setValue(key_ + QStringLiteral("/sizes"), splitter_.saveState());
}

void Place::keep() {
  is_kept_ = true;
  bool is_number = false;
  const int side = user_settings().value(key_ + QStringLiteral("/side")).toInt(&is_number);
  if (!is_number || side < kLeft || side > kBelow) return;
  put(static_cast<Side>(side));
  is_chosen_ = true;
  const QByteArray sizes = user_settings().value(key_ + QStringLiteral("/sizes")).toByteArray();
  const Qt::Orientation orientation = splitter_.orientation();
  if (splitter_.restoreState(sizes) && splitter_.orientation() != orientation) {
    put(side_);  // somebody has edited the settings
  }
}

void Place::fill(QMenu& menu) {
  auto* sides = new QActionGroup(&menu);
  const std::pair<QString, Side> all[] = {{tr("Below"), kBelow},
                                          {tr("Above"), kAbove},
                                          {tr("At the left"), kLeft},
                                          {tr("At the right"), kRight}};
  for (const auto& [text, side] : all) {
    QAction* action = menu.addAction(text);
    action->setCheckable(true);
    sides->addAction(action);
    connect(action, &QAction::triggered, this, [this, side = side] { move_to(side); });
    connect(&menu, &QMenu::aboutToShow, action,
            [this, action, side = side] { action->setChecked(side_ == side); });
  }
  menu.addSeparator();
  connect(menu.addAction(tr("As at first")), &QAction::triggered, this, [this] {
    put(first_);
    is_chosen_ = false;
    user_settings().remove(key_);
    emit reset();
  });
}

}  // namespace redline::viewer
