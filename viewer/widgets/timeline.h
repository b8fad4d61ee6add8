// The left column, the strip of the whole recording, the ruler, the lanes and the scroll bar
// together, and the keys that move them.
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QScrollBar>
#include <QWidget>
#include <span>
#include <vector>

#include "viewer/widgets/command_palette.h"
#include "viewer/widgets/lanes_view.h"
#include "viewer/widgets/overview_strip.h"
#include "viewer/widgets/track_column.h"

namespace redline::viewer {

class Timeline : public QWidget {
  Q_OBJECT

 public:
  explicit Timeline(ViewState& state);

  [[nodiscard]] LanesView& lanes() { return *lanes_; }
  [[nodiscard]] QLineEdit& filter() { return *filter_; }
  /// W/S, A/D, arrows, F, Home, Esc, '.' and ','. False: not a key of the timeline.
  bool handle_key(const QKeyEvent& event);

  /// What keys do, to find it by name.
  [[nodiscard]] std::vector<Command> commands();

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  struct Binding;
  [[nodiscard]] static std::span<const Binding> bindings();

  QLineEdit* make_filter();
  [[nodiscard]] Mark mark_here() const;
  void toggle_mark();
  void write_note();
  void toggle_pin();
  void update_scroll_bar();
  void update_summary();
  void step_slice(int direction);
  /// To the slice above (-1) or below (1) the selected one; without a selection
  /// it scrolls.
  void step_lane(int direction);
  bool drop_selection();  ///< false: nothing was selected
  [[nodiscard]] SliceRef first_in_view() const;

  ViewState& state_;
  QLabel* summary_;
  QLineEdit* filter_;
  LanesView* lanes_;
  QScrollBar* scroll_bar_;
};

}  // namespace redline::viewer
