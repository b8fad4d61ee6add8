// The window: top bar, timeline with tables under it, panes at the right, status line.
//
// It builds the parts and connects them. What they show is in ViewState; what they compute is in
// models/. Four sources: main_window_build.cc (the parts and where they stand),
// main_window_files.cc (what is read and written), main_window_loads.cc (a load from its start to
// its end), and the rest.
#pragma once

#include <QLabel>
#include <QMainWindow>
#include <QStackedWidget>
#include <array>

#include "viewer/models/run.h"
#include "viewer/models/session.h"
#include "viewer/models/session_report.h"
#include "viewer/widgets/controls.h"
#include "viewer/widgets/find_pane.h"
#include "viewer/widgets/loader.h"
#include "viewer/widgets/timeline.h"
#include "viewer/widgets/user_settings.h"
#include "viewer/widgets/view_state.h"

class QMenu;
class QVBoxLayout;
class QPushButton;
class QSplitter;
class QTabWidget;

namespace redline::viewer {

class Pane;
class Place;
class RowsView;
class RunPage;
class TablesPane;
class TuningPage;

enum class ExportKind : uint8_t { kCsv, kJson, kPng };

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  /// The window has `theme` until set_theme() changes it.
  explicit MainWindow(const Theme& theme);

  [[nodiscard]] ViewState& state() { return state_; }
  [[nodiscard]] Timeline& timeline() { return *timeline_; }
  [[nodiscard]] SearchField& search_field() { return *search_; }
  [[nodiscard]] Loader& loader() { return loader_; }

  /// Changes the whole window at once. kDesktop: from then on it follows the desktop's theme.
  void set_theme(ThemeChoice choice);

  /// Fits the window to its screen, divides it as the user last did, and remembers how the user
  /// divides it. Pictures leave this out, so that they depend on nothing but the command.
  void keep_places();
  /// Leaves out what was saved beside a trace (save_view()), for the same reason.
  void ignore_saved_views() { ignores_saved_views_ = true; }

  /// Loads on a thread of its own; loaded() or failed() follows.
  void open(const std::vector<std::string>& paths);
  /// Opens two runs on aligned steps and shows what became faster or slower.
  void compare(const std::vector<std::string>& before, const std::vector<std::string>& after);
  /// Shows the first lanes, or later all of them; zoom and marks that the user made in between
  /// stay.
  void show_session(const LoadedSession& loaded);
  void show_analysis(const AnalysedSession& analysed);
  void show_tuning(const Tuning& tuning);
  /// Shows the page, unless traces that lie beside the logs are shown: then a button leads to it.
  void show_run(const WholeRun& run);
  void show_error(const QString& sentence);
  /// Writes the table that is shown, or a picture of the window. Returns a sentence if that fails.
  [[nodiscard]] std::optional<std::string> export_to(const std::string& path, ExportKind kind);
  /// The table that is shown, whose rows can be copied; null if the page has none.
  [[nodiscard]] RowsView* current_rows() const;
  /// Shows the table or pane of this title, whatever the case of its letters. False if there is
  /// none.
  bool show_tab(const QString& title);
  /// Of what is open; dialogs start there.
  [[nodiscard]] QString folder() const;
  [[nodiscard]] QStringList tab_titles() const;
  void save_view();
  void restore(const SavedView& view);
  /// Waits for what other threads compute for the window; events then show it.
  void wait();
  /// Waits and shows it, for a picture.
  void settle();

 signals:
  void loaded();
  void summed_up();  ///< after loaded(): tables and panes are filled
  void failed(QString sentence);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  struct Files {
    std::vector<std::string> paths;
    std::vector<std::string> before;  ///< what they are compared with

    bool operator==(const Files&) const = default;
  };

  QWidget* make_top_bar();
  QMenu* make_export_menu();
  QMenu* make_view_menu();
  void add_tab_shortcuts();
  /// Everything that can be done now.
  [[nodiscard]] std::vector<Command> commands();
  /// A tab that can be seen, and with which key beside Alt.
  struct Tab {
    QTabWidget* tabs;
    int index;
    QString title;
    QChar key;  ///< null: none
  };
  [[nodiscard]] std::vector<Tab> tabs() const;
  static void open_tab(const Tab& tab);
  QWidget* make_message_page();
  QWidget* make_work_area();
  QWidget* make_status_bar();
  void connect_state();

  void focus_search();
  void choose_files();
  void choose_before();
  void choose_folder_before();
  void choose_folder();
  void fill_open_menu();
  void fill_recent_links();
  void reload();
  void show_load_report();
  void toggle_clocks();
  void show_clocks();
  void choose_study();
  void show_page(int page);
  /// A page other than the timeline is open now.
  void note_opened(int page);
  [[nodiscard]] const Files& files() const;  ///< of the page that is shown
  /// Name and status of the page that is shown, in the title, the top bar and the status line.
  void show_names();
  /// Asks where to write these rows, whichever part of the window they belong to, or what is shown.
  void choose_export(const QString& suffix, ExportKind kind, const RowsView* rows = nullptr);
  [[nodiscard]] Table table_to_export() const;
  /// Whether the window shows what it read from this file.
  [[nodiscard]] bool is_open(const std::string& path) const;
  [[nodiscard]] std::optional<std::string> export_to(const std::string& path, ExportKind kind,
                                                     const Table& table);
  /// Asks the user; `part` says which part of what is shown the file will hold.
  [[nodiscard]] QString path_of_export(const QString& suffix, const std::string& part);
  void restore_view();
  [[nodiscard]] SavedView placed_view() const;
  /// What the user has changed while only the first lanes were shown, on the session's axis;
  /// nullopt if nothing was changed.
  [[nodiscard]] std::optional<SavedView> view_of_first_lanes(const Session& session) const;
  /// Adds what the user changed on the first lanes to the view that was saved beside the trace.
  void take_over(const SavedView& made, const SavedView& first);
  [[nodiscard]] QString status_of(const LoadedSession& loaded) const;
  void say(const QString& sentence);
  void show_message(const QString& text, bool loading);
  void show_progress(quint64 done, quint64 total);
  void cancel_load();
  [[nodiscard]] bool is_loading() const;
  void begin_load(const QString& message);
  void put_session(const LoadedSession& loaded, const Files& files);
  void bring_back_opened();
  void show_opened();
  /// Takes up what a load that ended without a trace has cut off or replaced.
  void resume();
  void sum_up_rest();
  void note_panes(const QString& words);
  /// Ranks that were not loaded are there now, or cannot be read.
  void show_ranks(const ReadRanks& read);
  /// The recorded session with more ranks loaded, or more known of them.
  void put_ranks(const Session& session);
  /// Shows recorded_, its clocks set right if that is wanted.
  void put_recorded();
  /// Gives the tables the room that lanes of this height leave, unless the user has divided it.
  void share_room(int lanes_height);
  void update_status();
  void update_selection_status();

  static constexpr int kMessagePage = 0;
  static constexpr int kTimelinePage = 1;
  static constexpr int kTuningPage = 2;
  static constexpr int kRunPage = 3;

  /// What a page shows.
  struct Shown {
    Files files;
    QString name;
    QString status;
  };
  /// The trace that was last read completely. It is shown again when a later load is cancelled
  /// and, if the user wants it, when one fails.
  struct Opened {
    Files files;
    int page = kMessagePage;  ///< where the user was; kMessagePage: nothing was opened yet
    LoadedSession loaded;
    bool is_summed_up = false;
    SavedView view;
  };

  ViewState state_;
  std::optional<ThemeChoice> theme_;  ///< nullopt: the theme that the window began with
  Loader loader_;
  QStackedWidget* pages_ = nullptr;
  QPushButton* tuning_button_ = nullptr;
  TuningPage* tuning_ = nullptr;
  QPushButton* run_button_ = nullptr;
  RunPage* run_ = nullptr;
  ElidedLabel* name_ = nullptr;
  SearchField* search_ = nullptr;
  QLabel* message_ = nullptr;
  LoadProgress* progress_ = nullptr;
  LoadProgress* rest_progress_ = nullptr;  ///< progress of reading what follows the first lanes
  Timeline* timeline_ = nullptr;
  TablesPane* tables_ = nullptr;
  QSplitter* left_ = nullptr;  ///< timeline and tables
  Place* tables_place_ = nullptr;
  Place* panes_place_ = nullptr;
  QTabWidget* panes_ = nullptr;
  std::vector<Pane*> pane_list_;  ///< the panes in panes_, and the flame graph
  AnalysedSession analysed_;      ///< as recorded
  std::shared_ptr<const trace::Report> report_;
  std::shared_ptr<const Session> recorded_;  ///< with the clocks as recorded
  std::optional<ClockShifts> clocks_;
  bool clocks_are_set_ = false;  ///< or will be, once `clocks_` are known
  bool ignores_saved_views_ = false;
  bool is_outlined_ = false;  ///< of a partial session: all ranks were read once
  std::optional<SavedView>
      first_view_;  ///< only set while the first lanes are shown: the view that they began with
  Opened opened_;
  std::array<Shown, 4> shown_;  ///< by page; kMessagePage: what is being read, or cannot be
  QMenu* open_menu_ = nullptr;
  QVBoxLayout* recent_links_ = nullptr;
  QPushButton* loaded_text_ = nullptr;  ///< leads to the load report
  QPushButton* clock_text_ = nullptr;   ///< sets the clocks right, and back
  ElidedLabel* selection_text_ = nullptr;
  ElidedLabel* range_text_ = nullptr;
};

}  // namespace redline::viewer
