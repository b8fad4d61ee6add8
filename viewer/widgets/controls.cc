#include "viewer/widgets/controls.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QHelpEvent>
#include <QPainter>
#include <QRegularExpression>
#include <QStyleOptionButton>
#include <QStylePainter>
#include <QToolTip>
#include <algorithm>

#include "viewer/models/format.h"
#include "viewer/models/load.h"
#include "viewer/models/tooltip.h"

namespace redline::viewer {

void set_tooltip(QWidget& widget, const QString& words) {
  widget.setToolTip(tooltip_of(words));
  widget.setAccessibleDescription(words);
}

QSize ElidedLabel::minimumSizeHint() const { return {1, QLabel::minimumSizeHint().height()}; }

void ElidedLabel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setPen(palette().color(foregroundRole()));
  const QString shown = fontMetrics().elidedText(text(), Qt::ElideRight, width());
  painter.drawText(rect(), static_cast<int>(alignment()) | Qt::TextSingleLine, shown);
}

bool ElidedLabel::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QLabel::event(event);
  QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), tooltip_of(text()), this);
  return true;
}

ElidedButton::ElidedButton(const QString& words) : QPushButton(words) {
  setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
}

QSize ElidedButton::minimumSizeHint() const { return {1, QPushButton::minimumSizeHint().height()}; }

void ElidedButton::paintEvent(QPaintEvent*) {
  QStylePainter painter(this);
  QStyleOptionButton option;
  initStyleOption(&option);
  if (is_cut()) {
    const QRect room = style()->subElementRect(QStyle::SE_PushButtonContents, &option, this);
    const QString words = from_button(text());
    option.text = for_button(fontMetrics().elidedText(words, Qt::ElideRight, room.width()));
  }
  painter.drawControl(QStyle::CE_PushButton, option);
}

QString ElidedButton::tooltip_words() const {
  QStringList words;
  if (is_cut()) words << from_button(text());
  if (!toolTip().isEmpty()) words << toolTip();
  return words.join(QLatin1Char('\n'));
}

bool ElidedButton::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QPushButton::event(event);
  QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), tooltip_of(tooltip_words()),
                     this);
  return true;
}

void Field::set_hint(const QColor& colour) {
  hint_ = colour;
  show_hint();
}

void Field::changeEvent(QEvent* event) {
  QLineEdit::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) show_hint();
}

void Field::show_hint() {
  QPalette colours = palette();
  if (!hint_.isValid() || colours.color(QPalette::PlaceholderText) == hint_) return;
  colours.setColor(QPalette::PlaceholderText, hint_);
  setPalette(colours);
}

void ColourBox::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme_.of(class_));
  painter.drawRoundedRect(rect(), radius_, radius_);
}

ShareBar::ShareBar(const Theme& theme, double share, SliceClass slice_class)
    : theme_(theme), share_(share), class_(slice_class) {
  setFixedHeight(6);
}

void ShareBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme_.idle);
  painter.fillRect(QRectF(0, 0, share_ * width(), height()), theme_.of(class_));
}

void WordsColumn::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  setMinimumHeight(std::max(0, layout()->totalHeightForWidth(width())));
}

QLabel* make_label(const QString& words, const QFont& font, bool muted) {
  auto* label = new QLabel(words);
  label->setTextFormat(Qt::PlainText);
  label->setFont(font);
  label->setProperty("muted", muted);
  return label;
}

QLabel* selectable_label(const QString& words, const QFont& font, bool muted) {
  QLabel* label = make_label(words, font, muted);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

QPushButton* make_link(const QString& words) {
  auto* link = new ElidedButton(for_button(words));
  link->setProperty("link", true);
  link->setCursor(Qt::PointingHandCursor);
  return link;
}

QString with_breaks(QString words) {
  static const QRegularExpression kLong(QStringLiteral("(\\S{60})(?=\\S)"));
  return words.replace(kLong, QStringLiteral("\\1\u200b"));
}

QFrame* separator() {
  auto* line = new QFrame;
  line->setFixedHeight(1);
  line->setProperty("line", true);
  return line;
}

QVBoxLayout* make_column(QWidget* widget) {
  auto* column = new QVBoxLayout(widget);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  return column;
}

QSplitter* make_splitter(Qt::Orientation orientation, std::initializer_list<QWidget*> parts,
                         const QList<int>& sizes, int stretched) {
  auto* splitter = new QSplitter(orientation);
  splitter->setHandleWidth(1);
  for (QWidget* part : parts) splitter->addWidget(part);
  splitter->setStretchFactor(stretched, 1);
  splitter->setSizes(sizes);
  return splitter;
}

void paint_focus_frame(QPainter& painter, const QWidget& part, const Theme& theme) {
  if (!part.hasFocus()) return;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(theme.accent);
  painter.drawRect(part.rect().adjusted(0, 0, -1, -1));
}

namespace {

constexpr int kSteps = 1000;

}  // namespace

LoadProgress::LoadProgress() : bar_(new QProgressBar) {
  bar_->setRange(0, kSteps);
  bar_->setAccessibleName(tr("Reading"));
  auto* cancel = new QPushButton(tr("Cancel"));
  cancel->setToolTip(tr("Esc"));
  connect(cancel, &QPushButton::clicked, this, &LoadProgress::cancelled);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->addWidget(bar_, 1);
  row->addWidget(cancel);
  setFocusProxy(cancel);
}

void LoadProgress::show_bytes(quint64 done, quint64 total) {
  const double share = total == 0 ? 0 : static_cast<double>(done) / static_cast<double>(total);
  bar_->setValue(static_cast<int>(kSteps * share));
  if (done == 0 || done < last_done_) since_begin_.start();  // another file
  last_done_ = done;
  QString words = total == 0
                      ? QString()
                      : tr("%1 of %2").arg(text(format_bytes(done)), text(format_bytes(total)));
  const auto left = time_left(since_begin_.nsecsElapsed(), done, total);
  if (left) words += tr(" · %1 left of this file").arg(text(format_wait(*left)));
  bar_->setFormat(words);
}

}  // namespace redline::viewer
