#include "viewer/widgets/theme_choice.h"

#include <QGuiApplication>
#include <QPalette>
#include <algorithm>
#include <array>

#include "viewer/widgets/user_settings.h"

namespace redline::viewer {
namespace {

constexpr const char* kThemeKey = "theme";
// In the order of ThemeChoice.
constexpr std::array kThemeWords = {"auto", "light", "dark"};

bool is_desktop_dark() {
  return QGuiApplication::palette().color(QPalette::Window).lightness() < 128;
}

}  // namespace

std::optional<ThemeChoice> theme_choice_of(const std::string& word) {
  const auto found = std::find(kThemeWords.begin(), kThemeWords.end(), word);
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
