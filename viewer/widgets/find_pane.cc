#include "viewer/widgets/find_pane.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QPainter>
#include <QVBoxLayout>
#include <cmath>

#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

constexpr int kRangeHeight = 16;  // for the texts of the shortest and the longest duration
constexpr int kSideWidth = 380;

QString duration_text(double ns) { return text(format_duration(std::llround(ns))); }

QString count_text(uint64_t count) { return text(format_count(count)); }

}  // namespace

HistogramView::HistogramView(ViewState& state) : state_(state) {
  setMinimumHeight(60);
  setAccessibleName(tr("Durations of what was found"));
  connect(&state, &ViewState::selection_changed, this, qOverload<>(&QWidget::update));
}

void HistogramView::show_bins(std::vector<HistogramBin> bins) {
  bins_ = std::move(bins);
  most_ = 1;
  for (const HistogramBin& bin : bins_) most_ = std::max(most_, bin.count);
  forget_current();
}

// The height follows the root of the count, so that a single slow call beside a million quick ones
// can be seen.
QRectF HistogramView::item_rect(int item) const {
  const auto bin = static_cast<size_t>(item);
  const double step = static_cast<double>(width()) / static_cast<double>(bins_.size());
  const double room = height() - kRangeHeight - 2;
  const double share =
      std::sqrt(static_cast<double>(bins_[bin].count) / static_cast<double>(most_));
  const double bar = bins_[bin].count ? std::max(1.0, share * room) : 0;
  return {item * step, 2 + room - bar, step - 1, bar};
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
  for (int i = 0; i < item_count(); ++i) {
    painter.fillRect(item_rect(i), static_cast<size_t>(i) == marked ? theme.graph : theme.accent);
  }
  painter.fillRect(0, height() - kRangeHeight, width(), 1, theme.separator);
  painter.setFont(ui_font(11));
  painter.setPen(theme.muted);
  const QRect axis(0, height() - kRangeHeight, width(), kRangeHeight);
  painter.drawText(axis, Qt::AlignLeft | Qt::AlignVCenter, duration_text(bins_.front().from_ns));
  painter.drawText(axis, Qt::AlignRight | Qt::AlignVCenter, duration_text(bins_.back().to_ns));
  paint_focus(painter, theme.text);
}

int HistogramView::item_at(QPointF at) const {
  if (bins_.empty()) return kNoItem;
  return std::clamp(static_cast<int>(at.x() * item_count() / std::max(1, width())), 0,
                    item_count() - 1);
}

QString HistogramView::item_text(int item) const {
  const HistogramBin& bin = bins_[static_cast<size_t>(item)];
  return tr("%1 to %2: %3, %4 in all")
      .arg(duration_text(bin.from_ns), duration_text(bin.to_ns),
           text(format_plural(bin.count, "slice")),
           duration_text(static_cast<double>(bin.total_ns)));
}

FindPane::FindPane(ViewState& state)
    : state_(state),
      figures_(new QLabel),
      histogram_(new HistogramView(state)),
      table_(new HitsView(tr("What was found"))) {
  figures_->setWordWrap(true);
  figures_->setTextFormat(Qt::PlainText);
  figures_->setMinimumHeight(2 * figures_->fontMetrics().lineSpacing() +
                             4);  // so that it does not only get what is left over
  auto* side = new QWidget;
  side->setFixedWidth(kSideWidth);
  auto* column = new QVBoxLayout(side);
  column->setContentsMargins(16, 8, 8, 4);
  column->addWidget(figures_);
  column->addWidget(histogram_, 1);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  row->addWidget(side, 0, Qt::AlignLeft);
  row->addWidget(table_, 1);
  connect(table_, &HitsView::slice_chosen, &state, &ViewState::go_to);
  connect(histogram_, &HistogramView::bin_chosen, this, [this](const HistogramBin& bin) {
    state_.go_to(longest_of(state_.session(), *longest_first_, bin));
  });
  connect(&state, &ViewState::search_changed, this, &FindPane::search);
  connect(&state, &ViewState::session_changed, this, &FindPane::show_nothing);
  setFocusProxy(table_);
  show_results({});
}

void FindPane::showEvent(QShowEvent*) {
  if (is_stale_) search();
}

// Searches only while the pane is visible, because only then the results are needed.
void FindPane::search() {
  task_.cancel();  // its hits may belong to a session that is gone
  is_stale_ = !isVisible();
  if (is_stale_) return;
  if (state_.search().is_pending()) return show_nothing();
  task_.start(
      [session = state_.shared_session(),
       search = state_.search()](const std::atomic<bool>& cancelled) {
        return find_results(*session, search, &cancelled);
      },
      [this](const FindResults& results) { show_results(results); });
}

void FindPane::show_nothing() {
  histogram_->hide();
  table_->hide();
  // Hits keep the traces that they are of in memory.
  longest_first_ = std::make_shared<const std::vector<SliceRef>>();
  table_->show_hits(nullptr, longest_first_);
  const Search& search = state_.search();
  const bool in_args = args_part(search.text()).has_value();
  if (search.text().empty()) {
    figures_->setText(
        tr("Type a name into the search field ( / ) to see all slices with that name; args: before "
           "a text "
           "looks into arguments."));
  } else if (search.is_pending()) {
    figures_->setText(in_args ? tr("Reading the arguments of all slices …") : tr("Searching …"));
  } else {
    const Session& session = state_.session();
    const QString all = !in_args ? tr("Nothing has this name or category.")
                        : session.is_changed()
                            ? tr("Arguments are not known: the file has changed since it was read "
                                 "(F5).")
                            : tr("No slice has this in its arguments.");
    figures_->setText(session.is_partial()
                          ? tr("Nothing in the %1 ranks that are loaded; the others were not "
                               "searched. Unfold them, or load all by the menu of the tracks.")
                                .arg(session.loaded_count())
                          : all);
  }
}

void FindPane::show_results(const FindResults& results) {
  const Quantiles& spread = results.spread;
  if (spread.count == 0) {
    show_nothing();
  } else {
    histogram_->show();
    histogram_->show_bins(results.histogram);
    table_->show();
    longest_first_ = results.hits;
    table_->show_hits(state_.shared_session(), results.hits);
    const auto text = [](int64_t ns) { return duration_text(static_cast<double>(ns)); };
    QString found = tr("%1 found").arg(count_text(static_cast<uint64_t>(spread.count)));
    if (rows_beyond() > 0) found += tr(", %1 shown").arg(count_text(table_->hits().shown_count()));
    figures_->setText(tr("%1 · %2 in all · mean %3\nmin %4 · p50 %5 · p99 %6 · max %7")
                          .arg(found, text(spread.sum), text(spread.mean()), text(spread.min),
                               text(spread.p50), text(spread.p99), text(spread.max)));
  }
  emit shown();
}

SearchField::SearchField(ViewState& state) : state_(state), count_(new QLabel(this)) {
  setPlaceholderText(tr("Find a name, category or args:text  /"));
  setAccessibleName(tr("Search"));
  setMinimumWidth(200);
  setMaximumWidth(420);
  setTextMargins(0, 0, 110, 0);
  count_->setProperty("muted", true);
  count_->setStyleSheet(QStringLiteral("background: transparent;"));
  count_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  count_->setAttribute(Qt::WA_TransparentForMouseEvents);
  connect(this, &QLineEdit::textEdited, this, [this](const QString& text) { state_.find(text); });
  connect(&state, &ViewState::search_changed, this, &SearchField::show_count);
  connect(&state, &ViewState::selection_changed, this, &SearchField::show_count);
}

void SearchField::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
      event->modifiers() & Qt::ShiftModifier ? state_.find_previous() : state_.find_next();
      return;
    case Qt::Key_Escape:
      emit left();  // the search stays
      return;
    default:
      Field::keyPressEvent(event);
  }
}

void SearchField::resizeEvent(QResizeEvent* event) {
  Field::resizeEvent(event);
  count_->setGeometry(width() - 124, 1, 112, height() - 2);
}

void SearchField::show_count() {
  const Search& search = state_.search();
  const QString wanted = QString::fromStdString(search.text());
  if (text() != wanted) {
    setText(wanted);
    setCursorPosition(0);  // shows the first words, which tell kernels apart
  }
  if (search.text().empty()) {
    count_->clear();
    return;
  }
  const QString count = count_text(search.count());
  if (search.is_pending()) {
    count_->setText(tr("searching …"));
    return;
  }
  const uint64_t place = search.place_of(state_.session(), state_.selection());
  const Session& session = state_.session();
  const QString nothing =
      session.is_partial() ? tr("none in %1 ranks").arg(session.loaded_count()) : tr("not found");
  count_->setText(search.count() == 0 ? nothing
                  : place > 0         ? tr("%1 of %2").arg(count_text(place), count)
                  : session.is_partial()
                      ? tr("%1 in %2 ranks").arg(count).arg(session.loaded_count())
                      : tr("%1 found").arg(count));
}

}  // namespace redline::viewer
