// Tracks, overview, ruler, lanes and scroll bar together, and the keys that move them.
#pragma once

#include <QLabel>
#include <QScrollBar>
#include <QWidget>

#include "viewer/widgets/lanes_view.h"
#include "viewer/widgets/overview_strip.h"
#include "viewer/widgets/ruler_view.h"
#include "viewer/widgets/track_column.h"

namespace redline::viewer {

class Timeline : public QWidget {
  Q_OBJECT

 public:
  explicit Timeline(ViewState& state, QWidget* parent = nullptr);

  [[nodiscard]] LanesView& lanes() { return *lanes_; }
  /// W/S, A/D, arrows, F, Home, Esc, '.' and ','. False: not a key of the timeline.
  bool handle_key(int key);

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void update_scroll_bar();
  void update_summary();
  void step_slice(int direction);

  ViewState& state_;
  QLabel* summary_;
  LanesView* lanes_;
  QScrollBar* scroll_bar_;
};

}  // namespace redline::viewer
