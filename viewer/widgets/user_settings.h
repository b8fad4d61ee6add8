// What the viewer keeps from one run to the next, in the user's own settings: the files that were
// opened lately, and the theme.
#pragma once

#include <QList>
#include <QSettings>
#include <QStringList>
#include <optional>
#include <string>
#include <vector>

#include "viewer/widgets/theme.h"

namespace redline::viewer {

[[nodiscard]] inline QSettings user_settings() {
  return QSettings(QStringLiteral("redline"), QStringLiteral("viewer"));
}

/// The files that were opened lately, latest first. Each entry has the paths of one window; files
/// that do not exist any more are left out.
[[nodiscard]] QList<QStringList> recent_files();
void remember_files(const std::vector<std::string>& paths);

/// "rank0.pt.trace.json.gz", "run7", "rank0.pt.trace.json.gz and 3 more".
[[nodiscard]] QString recent_title(const QStringList& paths);

enum class ThemeChoice : uint8_t { kDesktop, kLight, kDark };

/// "auto", "light" and "dark", as --theme takes them.
[[nodiscard]] std::optional<ThemeChoice> theme_choice_of(const std::string& word);

[[nodiscard]] ThemeChoice remembered_theme();
void remember_theme(ThemeChoice choice);
/// The theme that --theme says, else the remembered one.
[[nodiscard]] ThemeChoice first_theme(const std::string& word);

/// The theme that the choice means on the desktop as it is now.
[[nodiscard]] const Theme& theme_of(ThemeChoice choice);

}  // namespace redline::viewer
