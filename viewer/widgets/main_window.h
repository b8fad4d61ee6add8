// The window: top bar, timeline with tables under it, panes at the right, status line.
#pragma once

#include <QLabel>
#include <QMainWindow>
#include <QProgressBar>
#include <QStackedWidget>

#include "viewer/widgets/loader.h"
#include "viewer/widgets/search_field.h"
#include "viewer/widgets/timeline.h"
#include "viewer/widgets/view_state.h"

class QMenu;
class QTabWidget;

namespace redline::viewer {

class DetailsPane;
class OverviewPane;
class SelectionPane;
class TablesPane;

enum class ExportKind : uint8_t { kCsv, kJson, kPng, kSvg };

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(const Theme& theme);

  [[nodiscard]] ViewState& state() { return state_; }
  [[nodiscard]] Timeline& timeline() { return *timeline_; }
  [[nodiscard]] SearchField& search_field() { return *search_; }

  /// Loads on a thread of its own; loaded() or failed() follows.
  void open(const std::vector<std::string>& paths);
  /// Both runs on aligned steps, with what became faster or slower.
  void compare(const std::vector<std::string>& before, const std::vector<std::string>& after);
  void show_session(const LoadedSession& loaded);
  void show_analysis(const AnalysedSession& analysed);
  void show_error(const QString& sentence);
  /// The table that is shown, or the picture. A sentence where it cannot be written.
  [[nodiscard]] std::optional<std::string> export_to(const std::string& path, ExportKind kind);
  void save_view();
  /// Waits for what is computed beside the window: for pictures.
  void settle();

 signals:
  void loaded();
  void failed(QString sentence);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  QWidget* make_top_bar();
  QMenu* make_export_menu();
  QWidget* make_message_page();
  QWidget* make_work_area();
  QWidget* make_status_bar();
  void connect_state();

  void choose_files();
  void choose_before();
  void choose_export(const QString& suffix, ExportKind kind);
  void restore_view();
  void say(const QString& sentence);
  void show_message(const QString& text, bool loading);
  void show_progress(quint64 done, quint64 total);
  void cancel_load();
  void choose_name(const QString& name);
  void show_evidence(size_t trace, trace::SliceId slice);
  void update_status();
  void update_selection_status();

  ViewState state_;
  Loader loader_;
  QStackedWidget* pages_ = nullptr;
  QLabel* name_ = nullptr;
  SearchField* search_ = nullptr;
  QLabel* message_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QWidget* loading_controls_ = nullptr;
  Timeline* timeline_ = nullptr;
  TablesPane* tables_ = nullptr;
  QTabWidget* panes_ = nullptr;
  OverviewPane* overview_ = nullptr;
  DetailsPane* details_ = nullptr;
  SelectionPane* selection_ = nullptr;
  std::shared_ptr<const trace::Report> report_;
  std::vector<std::string> paths_;  ///< what is open, to compare it with another run
  QLabel* loaded_text_ = nullptr;
  QLabel* selection_text_ = nullptr;
  QLabel* range_text_ = nullptr;
};

}  // namespace redline::viewer
