#include "viewer/widgets/panes.h"

#include <QGridLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include "viewer/models/format.h"
#include "viewer/models/session_report.h"
#include "viewer/widgets/controls.h"

namespace redline::viewer {
namespace {

/// Paints the parts of a step side by side, as wide as their shares.
class PartsBar : public QWidget {
 public:
  PartsBar(const Theme& theme, std::vector<SummaryPart> parts)
      : theme_(theme), parts_(std::move(parts)) {
    setFixedHeight(16);
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    double left = 0;
    for (const SummaryPart& part : parts_) {
      const double right = left + part.share * width();
      painter.fillRect(QRectF(left, 0, right - left, height()), theme_.of(part.slice_class));
      left = right;
    }
  }

 private:
  const Theme& theme_;
  std::vector<SummaryPart> parts_;
};

QWidget* make_swatch(const Theme& theme, SliceClass slice_class) {
  auto* swatch = new ColourBox(theme, slice_class, 2);
  swatch->setFixedSize(9, 9);
  return swatch;
}

QLabel* make_words(const QString& words, bool muted = false) {
  QLabel* label = make_label(words, ui_font(12), muted);
  label->setWordWrap(true);
  return label;
}

SliceClass colour_of(trace::Severity severity) {
  switch (severity) {
    case trace::Severity::kHigh:
      return SliceClass::kDataLoader;
    case trace::Severity::kMedium:
      return SliceClass::kCommunication;
    case trace::Severity::kLow:
      break;
  }
  return SliceClass::kCopy;
}

}  // namespace

OverviewPane::OverviewPane(ViewState& state)
    : Pane(tr("Overview")), state_(state), area_(new QScrollArea) {
  area_->setWidgetResizable(true);
  area_->setAccessibleName(tr("Overview"));
  area_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  make_column(this)->addWidget(area_);
  setFocusProxy(area_);
}

QVBoxLayout* OverviewPane::start_content() {
  auto* content = new WordsColumn;
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(14, 14, 14, 14);
  column->setSpacing(8);
  area_->setWidget(content);
  return column;
}

void OverviewPane::show_note(const QString& note) {
  QVBoxLayout* column = start_content();
  column->addWidget(make_words(note, true));
  column->addStretch(1);
}

void OverviewPane::show_report(const std::shared_ptr<const trace::Report>& report) {
  report_ = report;
  const Summary summary = summarize(*report);
  if (summary.step.empty()) {
    QStringList words{tr("No steps and no operators in this trace: nothing to sum up.")};
    for (const std::string& note : summary.notes) words << printable_text(note);
    return show_note(words.join(QStringLiteral("\n\n")));
  }
  QVBoxLayout* column = start_content();
  add_step(*column, summary);
  for (const std::string& note : summary.notes) {
    column->addWidget(make_words(printable_text(note)));
  }
  add_parts(*column, summary.parts);
  if (!summary.figures.empty()) add_figures(*column, summary.figures);
  column->addSpacing(6);
  column->addWidget(make_label(tr("What holds it back"), ui_font(13, QFont::DemiBold)));
  if (summary.cards.empty()) column->addWidget(make_words(text(summary.without_cards), true));
  for (const SummaryCard& card : summary.cards) add_card(*column, card);
  column->addStretch(1);
}

void OverviewPane::add_step(QVBoxLayout& column, const Summary& summary) {
  column.addWidget(make_label(text(summary.title), ui_font(11), true));
  auto* row = new QHBoxLayout;
  row->setSpacing(16);
  row->addWidget(make_label(text(summary.step), ui_font(24, QFont::Bold)));
  row->addWidget(make_label(text(summary.spread), ui_font(12), true), 1, Qt::AlignBottom);
  column.addLayout(row);
  if (!summary.ranks.empty()) column.addWidget(make_words(text(summary.ranks)));
}

void OverviewPane::add_parts(QVBoxLayout& column, const std::vector<SummaryPart>& parts) {
  column.addWidget(new PartsBar(state_.theme(), parts));
  auto* grid = new QGridLayout;
  grid->setHorizontalSpacing(6);
  grid->setVerticalSpacing(4);
  for (int i = 0; i < static_cast<int>(parts.size()); ++i) {
    const SummaryPart& part = parts[static_cast<size_t>(i)];
    const int at = (i % 2) * 4;
    grid->addWidget(make_swatch(state_.theme(), part.slice_class), i / 2, at);
    grid->addWidget(make_label(text(part.name), ui_font(12)), i / 2, at + 1);
    grid->addWidget(make_label(text(format_percent(part.share)), ui_font(12), true), i / 2, at + 2,
                    Qt::AlignRight);
  }
  grid->setColumnStretch(1, 1);
  grid->setColumnStretch(5, 1);
  grid->setColumnMinimumWidth(3, 16);
  column.addLayout(grid);
}

void OverviewPane::add_figures(QVBoxLayout& column, const std::vector<SummaryFigure>& figures) {
  column.addSpacing(4);
  column.addWidget(separator());
  auto* grid = new QGridLayout;
  grid->setVerticalSpacing(2);
  for (int i = 0; i < static_cast<int>(figures.size()); ++i) {
    const SummaryFigure& figure = figures[static_cast<size_t>(i)];
    grid->addWidget(make_label(text(figure.label), ui_font(11), true), 0, i);
    grid->addWidget(make_label(text(figure.value), ui_font(13, QFont::DemiBold)), 1, i);
  }
  column.addLayout(grid);
}

void OverviewPane::add_card(QVBoxLayout& column, const SummaryCard& card) {
  auto* frame = new QFrame;
  frame->setProperty("card", true);
  set_tooltip(*frame, text(card.evidence));
  auto* row = new QHBoxLayout(frame);
  row->setContentsMargins(0, 0, 12, 0);
  row->setSpacing(10);
  auto* stripe = new ColourBox(state_.theme(), colour_of(card.severity));
  stripe->setFixedWidth(3);
  auto* words = new QVBoxLayout;
  words->setContentsMargins(0, 9, 0, 9);
  words->setSpacing(4);
  auto* headline = make_label(text(card.headline), ui_font(12, QFont::DemiBold));
  auto* detail = make_label(text(card.detail), ui_font(11), true);
  headline->setWordWrap(true);
  detail->setWordWrap(true);
  words->addWidget(headline);
  words->addWidget(detail);
  if (!card.trial.empty()) {
    auto* trial = selectable_label(text(card.trial), ui_font(11));
    trial->setWordWrap(true);
    words->addWidget(trial);
  }
  auto* show = make_link(tr("show evidence"));
  connect(show, &QPushButton::clicked, this, [this, card] { show_evidence(card); });
  auto* links = new QHBoxLayout;
  links->setSpacing(16);
  links->addWidget(show);
  if (card.is_idle) {
    auto* gaps = make_link(tr("all gaps"));
    connect(gaps, &QPushButton::clicked, this, [this] { emit state_.gaps_wanted({}); });
    links->addWidget(gaps);
  }
  links->addStretch(1);
  words->addLayout(links);
  row->addWidget(stripe);
  row->addLayout(words, 1);
  if (!card.gain.empty()) {
    auto* gain = new QVBoxLayout;
    gain->setSpacing(0);
    gain->addWidget(make_label(text(card.gain), ui_font(14, QFont::DemiBold)), 0, Qt::AlignRight);
    gain->addWidget(make_label(tr("at most,\nif cured"), ui_font(11), true), 0, Qt::AlignRight);
    row->addLayout(gain);
    row->setAlignment(gain, Qt::AlignVCenter);
  }
  column.addWidget(frame);
}

void OverviewPane::show_evidence(const SummaryCard& card) {
  const auto trace = trace_at(state_.session(), *report_, card.trace);
  if (!trace) return;
  if (card.slice) return state_.go_to({*trace, card.slice});
  state_.go_to_time({*trace, card.time.begin_ns, card.time.end_ns});
}

}  // namespace redline::viewer
