#include "viewer/widgets/find_pane.h"

#include <QHBoxLayout>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <QVBoxLayout>
#include <cmath>

#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

constexpr int kAxisHeight = 16;  // for the shortest and the longest duration
constexpr int kSideWidth = 380;

QString duration_text(double ns) {
  return QString::fromStdString(format_duration(std::llround(ns)));
}

QString count_text(uint64_t count) { return QString::fromStdString(format_count(count)); }

}  // namespace

HistogramView::HistogramView(ViewState& state, QWidget* parent) : QWidget(parent), state_(state) {
  setMinimumHeight(60);
  setAccessibleName(tr("Durations of what was found"));
  connect(&state, &ViewState::selection_changed, this, qOverload<>(&QWidget::update));
}

void HistogramView::show_bins(std::vector<HistogramBin> bins) {
  bins_ = std::move(bins);
  most_ = 1;
  for (const HistogramBin& bin : bins_) most_ = std::max(most_, bin.count);
  update();
}

// By the root of the count: a lone slow call beside a million quick ones must be seen.
QRectF HistogramView::bar(size_t bin) const {
  const double step = static_cast<double>(width()) / static_cast<double>(bins_.size());
  const double room = height() - kAxisHeight - 2;
  const double share =
      std::sqrt(static_cast<double>(bins_[bin].count) / static_cast<double>(most_));
  const double bar = bins_[bin].count ? std::max(1.0, share * room) : 0;
  return {static_cast<double>(bin) * step, 2 + room - bar, step - 1, bar};
}

void HistogramView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& theme = state_.theme();
  painter.fillRect(rect(), theme.panel);
  if (bins_.empty()) return;
  const SliceRef selected = state_.selection();
  const size_t marked = selected && state_.search().matches(state_.session(), selected)
                            ? bin_of(bins_, state_.session().range_of(selected).span_ns())
                            : bins_.size();
  for (size_t i = 0; i < bins_.size(); ++i) {
    painter.fillRect(bar(i), i == marked ? theme.graph : theme.accent);
  }
  painter.fillRect(0, height() - kAxisHeight, width(), 1, theme.separator);
  painter.setFont(ui_font(11));
  painter.setPen(theme.muted);
  const QRect axis(0, height() - kAxisHeight, width(), kAxisHeight);
  painter.drawText(axis, Qt::AlignLeft | Qt::AlignVCenter, duration_text(bins_.front().from_ns));
  painter.drawText(axis, Qt::AlignRight | Qt::AlignVCenter, duration_text(bins_.back().to_ns));
}

bool HistogramView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || bins_.empty()) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const auto bin = static_cast<size_t>(
      std::clamp(help->pos().x() * static_cast<int>(bins_.size()) / std::max(1, width()), 0,
                 static_cast<int>(bins_.size()) - 1));
  const HistogramBin& shown = bins_[bin];
  QToolTip::showText(
      help->globalPos(),
      tr("%1 to %2: %3 slices, %4 in all")
          .arg(duration_text(shown.from_ns), duration_text(shown.to_ns), count_text(shown.count),
               duration_text(static_cast<double>(shown.total_ns))),
      this);
  return true;
}

FindPane::FindPane(ViewState& state, QWidget* parent)
    : QWidget(parent),
      state_(state),
      figures_(new QLabel),
      histogram_(new HistogramView(state)),
      table_(new TableView(tr("What was found"))),
      task_(this) {
  figures_->setWordWrap(true);
  figures_->setTextFormat(Qt::PlainText);
  auto* side = new QWidget;
  side->setFixedWidth(kSideWidth);
  auto* column = new QVBoxLayout(side);
  column->setContentsMargins(16, 8, 8, 4);
  column->addWidget(figures_);
  column->addWidget(histogram_, 1);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  row->addWidget(side);
  row->addWidget(table_, 1);
  connect(table_, &TableView::slice_chosen, &state, &ViewState::go_to);
  connect(&state, &ViewState::search_changed, this, &FindPane::search);
  show_results({});
}

void FindPane::showEvent(QShowEvent*) {
  if (is_stale_) search();
}

// Only who looks at the results pays for them.
void FindPane::search() {
  is_stale_ = !isVisible();
  if (is_stale_) return;
  task_.start(
      [session = state_.shared_session(),
       search = state_.search()](const std::atomic<bool>& cancelled) {
        return find_results(*session, search, &cancelled);
      },
      [this](const FindResults& results) { show_results(results); });
}

void FindPane::show_results(const FindResults& results) {
  const Quantiles& spread = results.spread;
  histogram_->setVisible(spread.count > 0);
  histogram_->show_bins(results.histogram);
  table_->setVisible(spread.count > 0);
  if (spread.count == 0) {
    figures_->setText(state_.search().text().empty()
                          ? tr("Type a name into the search field ( / ) to see all slices of it.")
                          : tr("Nothing has this name or category."));
  } else {
    const auto text = [](int64_t ns) { return duration_text(static_cast<double>(ns)); };
    figures_->setText(tr("%1 found · %2 in all · mean %3\nmin %4 · p50 %5 · p99 %6 · max %7")
                          .arg(count_text(static_cast<uint64_t>(spread.count)), text(spread.sum),
                               text(spread.mean()), text(spread.min), text(spread.p50),
                               text(spread.p99), text(spread.max)));
    table_->show_table(results.table, 1);
  }
  emit shown();
}

}  // namespace redline::viewer
