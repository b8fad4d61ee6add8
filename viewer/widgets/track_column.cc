#include "viewer/widgets/track_column.h"

#include <QHelpEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <QWheelEvent>

namespace redline::viewer {
namespace {

constexpr int kHeaderIndent = 24;
constexpr int kTrackIndent = 34;
constexpr int kRightMargin = 10;

void draw_elided(QPainter& painter, const QRect& rect, const std::string& text, int alignment) {
  const QString shown =
      painter.fontMetrics().elidedText(QString::fromStdString(text), Qt::ElideRight, rect.width());
  painter.drawText(rect, alignment | Qt::TextSingleLine, shown);
}

void draw_triangle(QPainter& painter, QPointF centre, bool folded, const QColor& colour) {
  QPainterPath path;
  if (folded) {
    path.moveTo(centre + QPointF(-2.5, -4));
    path.lineTo(centre + QPointF(3, 0));
    path.lineTo(centre + QPointF(-2.5, 4));
  } else {
    path.moveTo(centre + QPointF(-4, -2.5));
    path.lineTo(centre + QPointF(4, -2.5));
    path.lineTo(centre + QPointF(0, 3));
  }
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillPath(path, colour);
  painter.setRenderHint(QPainter::Antialiasing, false);
}

}  // namespace

TrackColumn::TrackColumn(ViewState& state, QWidget* parent) : QWidget(parent), state_(state) {
  setFixedWidth(kWidth);
  setAccessibleName(tr("Tracks"));
  connect(&state, &ViewState::layout_changed, this, qOverload<>(&QWidget::update));
  connect(&state, &ViewState::scroll_changed, this, qOverload<>(&QWidget::update));
}

void TrackColumn::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), state_.theme().panel);
  for (const Row& row : state_.layout().rows()) {
    if (row.top + row.height <= state_.scroll()) continue;
    if (row.top >= state_.scroll() + height()) break;
    paint_row(painter, row);
  }
  painter.fillRect(width() - 1, 0, 1, height(), state_.theme().separator);
}

void TrackColumn::paint_row(QPainter& painter, const Row& row) {
  const QRect rect(0, row.top - state_.scroll(), width(), row.height);
  const TrackGroup& group = state_.layout().groups()[row.id.group];
  painter.fillRect(rect.adjusted(0, rect.height() - 1, 0, 0), state_.theme().separator);
  if (row.id.track < 0) {
    paint_header(painter, group, rect, row.folded);
  } else {
    paint_track(painter, group.tracks[static_cast<size_t>(row.id.track)], rect, row);
  }
}

void TrackColumn::paint_header(QPainter& painter, const TrackGroup& group, const QRect& rect,
                               bool folded) {
  const Theme& theme = state_.theme();
  draw_triangle(painter, QPointF(14.5, rect.center().y() + 0.5), folded, theme.text);
  painter.setFont(ui_font(11));
  const QString note = QString::fromStdString(group.note);
  const int note_width = note.isEmpty() ? 0 : painter.fontMetrics().horizontalAdvance(note) + 8;
  painter.setPen(theme.muted);
  painter.drawText(rect.adjusted(0, 0, -kRightMargin, 0), Qt::AlignRight | Qt::AlignVCenter, note);
  painter.setFont(ui_font(12, QFont::DemiBold));
  painter.setPen(theme.text);
  draw_elided(painter, rect.adjusted(kHeaderIndent, 0, -kRightMargin - note_width, 0), group.title,
              Qt::AlignVCenter);
}

void TrackColumn::paint_track(QPainter& painter, const TrackItem& item, const QRect& rect,
                              const Row& row) {
  const Theme& theme = state_.theme();
  const bool two_lines = rect.height() >= 38;
  const QRect title = rect.adjusted(kTrackIndent, two_lines ? 4 : 0, -kRightMargin, 0);
  const QRect line(title.topLeft(), QSize(title.width(), two_lines ? 15 : rect.height() - 2));
  if (row.can_fold) {
    draw_triangle(painter, QPointF(24.5, line.center().y() + 0.5), row.folded, theme.muted);
  }
  painter.setFont(ui_font(12));
  painter.setPen(theme.text);
  draw_elided(painter, line, item.title, Qt::AlignVCenter);
  const int used = painter.fontMetrics().horizontalAdvance(QString::fromStdString(item.title)) + 10;
  painter.setFont(ui_font(11));
  painter.setPen(theme.muted);
  if (two_lines) {
    draw_elided(painter, line.translated(0, 16), item.note, Qt::AlignVCenter);
  } else if (used < line.width()) {
    draw_elided(painter, line.adjusted(used, 0, 0, 0), item.note, Qt::AlignVCenter);
  }
}

void TrackColumn::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  const Row* row = state_.layout().row_at(event->pos().y() + state_.scroll());
  if (row && row->can_fold) state_.toggle(row->id);
}

void TrackColumn::wheelEvent(QWheelEvent* event) {
  state_.set_scroll(state_.scroll() - event->angleDelta().y() / 2);
  event->accept();
}

bool TrackColumn::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const Row* row = state_.layout().row_at(help->pos().y() + state_.scroll());
  if (!row) return true;
  const TrackGroup& group = state_.layout().groups()[row->id.group];
  std::string text = group.title + (group.note.empty() ? "" : " · " + group.note);
  if (row->id.track >= 0) {
    const TrackItem& item = group.tracks[static_cast<size_t>(row->id.track)];
    text = item.title + (item.note.empty() ? "" : " · " + item.note);
  }
  QToolTip::showText(help->globalPos(), QString::fromStdString(text).toHtmlEscaped(), this);
  return true;
}

}  // namespace redline::viewer
