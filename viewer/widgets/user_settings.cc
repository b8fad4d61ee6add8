#include "viewer/widgets/user_settings.h"

#include <QDir>
#include <QFileInfo>
#include <QGuiApplication>
#include <QObject>
#include <QPalette>
#include <algorithm>
#include <array>

#include "viewer/widgets/controls.h"

namespace redline::viewer {
namespace {

constexpr int kMostFiles = 8;

QString key() { return QStringLiteral("recent"); }

QList<QStringList> stored() {
  QList<QStringList> all;
  const QVariantList entries = user_settings().value(key()).toList();
  for (const QVariant& entry : entries) all << entry.toStringList();
  return all;
}

}  // namespace

QList<QStringList> recent_files() {
  QList<QStringList> there;
  for (const QStringList& paths : stored()) {
    const bool exist =
        std::ranges::all_of(paths, [](const QString& path) { return QFileInfo::exists(path); });
    if (exist && !paths.isEmpty()) there << paths;
  }
  return there;
}

void remember_files(const std::vector<std::string>& paths) {
  QStringList names;
  for (const std::string& path : paths) {
    // A folder is the same with a slash at its end.
    names << QDir::cleanPath(QFileInfo(QString::fromStdString(path)).absoluteFilePath());
  }
  QList<QStringList> all = stored();
  all.removeAll(names);
  all.prepend(names);
  QVariantList entries;
  for (const QStringList& entry : all.mid(0, kMostFiles)) entries << entry;
  user_settings().setValue(key(), entries);
}

QString recent_title(const QStringList& paths) {
  const QString name = QFileInfo(QDir::cleanPath(paths.first())).fileName();
  const QString first = printable_text(name.toStdString());
  return paths.size() == 1 ? first : QObject::tr("%1 and %2 more").arg(first).arg(paths.size() - 1);
}

namespace {

constexpr const char* kThemeKey = "theme";
// Must be in the order of ThemeChoice.
constexpr std::array kThemeWords = {"auto", "light", "dark"};

bool is_desktop_dark() {
  return QGuiApplication::palette().color(QPalette::Window).lightness() < 128;
}

}  // namespace

std::optional<ThemeChoice> theme_choice_of(const std::string& word) {
  const auto found = std::ranges::find(kThemeWords, word);
  if (found == kThemeWords.end()) return std::nullopt;
  return static_cast<ThemeChoice>(found - kThemeWords.begin());
}

ThemeChoice remembered_theme() {
  const QString word = user_settings().value(QLatin1String(kThemeKey)).toString();
  return theme_choice_of(word.toStdString()).value_or(ThemeChoice::kDesktop);
}

void remember_theme(ThemeChoice choice) {
  user_settings().setValue(QLatin1String(kThemeKey),
                           QLatin1String(kThemeWords[static_cast<size_t>(choice)]));
}

ThemeChoice first_theme(const std::string& word) {
  const auto said = theme_choice_of(word);
  return said ? *said : remembered_theme();
}

const Theme& theme_of(ThemeChoice choice) {
  const bool is_dark =
      choice == ThemeChoice::kDesktop ? is_desktop_dark() : choice == ThemeChoice::kDark;
  return is_dark ? Theme::dark_theme() : Theme::light();
}

}  // namespace redline::viewer
