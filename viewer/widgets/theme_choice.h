// Which theme the user wants, kept from one run of the viewer to the next.
#pragma once

#include <optional>
#include <string>

#include "viewer/widgets/theme.h"

namespace redline::viewer {

enum class ThemeChoice : uint8_t { kDesktop, kLight, kDark };

/// "auto", "light" and "dark", as --theme takes them.
[[nodiscard]] std::optional<ThemeChoice> theme_choice_of(const std::string& word);

[[nodiscard]] ThemeChoice remembered_theme();
void remember_theme(ThemeChoice choice);
/// What --theme says, else what is remembered.
[[nodiscard]] ThemeChoice first_theme(const std::string& word);

/// What the choice means on the desktop as it is now.
[[nodiscard]] const Theme& theme_of(ThemeChoice choice);

}  // namespace redline::viewer
