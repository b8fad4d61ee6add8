#include "viewer/widgets/legend.h"

#include <QHBoxLayout>
#include <QPainter>
#include <QPushButton>
#include <algorithm>

#include "viewer/models/format.h"
#include "viewer/widgets/controls.h"
#include "viewer/widgets/track_column.h"

namespace redline::viewer {
namespace {

constexpr int kSwatch = 9;
constexpr int kBeforeWords = 15;
constexpr int kBetween = 16;
constexpr int kMostWords = 115;  // pixels; the tooltip has all of a name
constexpr QChar kMore(0x2026);   // …

QString words_of(const LegendEntry& entry) { return printable_text(entry.words); }

QString short_words_of(const LegendEntry& entry) { return printable_text(label_of(entry.words)); }

}  // namespace

LegendEntries::LegendEntries(ViewState& state) : state_(state) {
  setFont(ui_font(11));
  connect(&state, &ViewState::colours_changed, this, &LegendEntries::show_entries);
}

const std::vector<LegendEntry>& LegendEntries::entries() const {
  return state_.name_colours() ? state_.colours().names() : state_.colours().classes();
}

QString LegendEntries::all_words(const QString& between) const {
  QStringList words;
  for (const LegendEntry& entry : entries()) words << words_of(entry);
  return words.join(between);
}

void LegendEntries::show_entries() {
  setAccessibleName(tr("Colours: %1").arg(all_words(QStringLiteral(", "))));
  forget_current();
}

std::vector<LegendEntries::Place> LegendEntries::places() const {
  std::vector<Place> places;
  const int more = fontMetrics().horizontalAdvance(kMore);
  int left = 8;
  for (const LegendEntry& entry : entries()) {
    const int words = std::min(fontMetrics().horizontalAdvance(short_words_of(entry)), kMostWords);
    const QRect rect(left, 0, kBeforeWords + words, height());
    const bool is_last = &entry == &entries().back();
    if (rect.right() + (is_last ? 0 : kBetween + more) >= width()) {
      places.push_back({QRect(left, 0, more, height()), nullptr});
      break;
    }
    places.push_back({rect, &entry});
    left = rect.right() + 1 + kBetween;
  }
  return places;
}

void LegendEntries::paintEvent(QPaintEvent*) {
  const Theme& theme = state_.theme();
  QPainter painter(this);
  painter.fillRect(rect(), theme.panel);
  painter.setPen(theme.muted);
  for (const Place& place : places()) {
    const QRect& rect = place.rect;
    if (!place.entry) {
      painter.drawText(rect, Qt::AlignVCenter, kMore);
      continue;
    }
    painter.fillRect(rect.left(), (height() - kSwatch) / 2, kSwatch, kSwatch,
                     theme.slice[place.entry->colour]);
    const QRect words = rect.adjusted(kBeforeWords, 0, 1, 0);
    painter.drawText(
        words, Qt::AlignVCenter | Qt::TextSingleLine,
        fontMetrics().elidedText(short_words_of(*place.entry), Qt::ElideRight, words.width()));
  }
  paint_focus(painter, theme.accent);
}

int LegendEntries::item_at(QPointF at) const {
  const std::vector<Place> all = places();
  const auto found = std::ranges::find_if(
      all, [&](const Place& place) { return place.rect.contains(at.toPoint()); });
  return found == all.end() ? kNoItem : static_cast<int>(found - all.begin());
}

QString LegendEntries::item_text(int item) const {
  const LegendEntry* one = entry(item);
  return one ? words_of(*one) : all_words(QStringLiteral("\n"));
}

QRectF LegendEntries::item_rect(int item) const {
  return QRectF(places()[static_cast<size_t>(item)].rect).adjusted(0, 5, 0, -5);
}

void LegendEntries::choose(int item) {
  const LegendEntry* one = entry(item);
  if (one && state_.name_colours()) state_.find(text(one->words));
}

Legend::Legend(ViewState& state) : theme_(state.theme()) {
  setFixedHeight(kHeight);
  auto* change = new QPushButton;
  change->setProperty("quiet", true);
  change->setCursor(Qt::PointingHandCursor);
  change->setFont(ui_font(11));
  change->setToolTip(tr("L: colours by class or by name"));
  const auto name = [&state, change] {
    change->setText(state.name_colours() ? tr("Colours by name") : tr("Colours by class"));
  };
  name();
  connect(change, &QPushButton::clicked, &state,
          [&state] { state.set_colours_by_name(!state.name_colours()); });
  connect(&state, &ViewState::colours_changed, this, name);
  auto* left = new QWidget;
  left->setFixedWidth(TrackColumn::kWidth);
  auto* left_row = new QHBoxLayout(left);
  left_row->setContentsMargins(16, 0, 0, 0);
  left_row->addWidget(change);
  left_row->addStretch(1);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 1, 0, 0);
  row->setSpacing(0);
  row->addWidget(left);
  row->addWidget(new LegendEntries(state), 1);
}

void Legend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(0, 0, width(), 1, theme_.separator);
}

}  // namespace redline::viewer
