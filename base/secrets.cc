#include "base/secrets.h"

#include <algorithm>
#include <cctype>

#include "base/text_search.h"

namespace redline {
namespace {

constexpr std::string_view kHidden = "***";
/// What a name has that stands before a secret.
constexpr std::string_view kSecretWords[] = {"key",        "token", "secret", "passw",
                                             "passphrase", "pwd",   "auth",   "credential"};
/// Names, or parts of them, that would be found in too many others.
constexpr std::string_view kSecretParts[] = {"pass", "pw", "sig", "signature"};
constexpr std::string_view kHarmlessWords[] = {"tokeniz", "tokens"};
/// What cannot be part of a name.
constexpr std::string_view kBetweenNames = " \t\r\n,;&?=:@|(){}'\"";

bool is_part_of_name(std::string_view name, std::string_view part) {
  const auto is_letter = [&](size_t at) {
    return at < name.size() && std::isalnum(static_cast<unsigned char>(name[at])) != 0;
  };
  for (size_t at = name.find(part); at != std::string_view::npos; at = name.find(part, at + 1)) {
    if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + part.size())) return true;
  }
  return false;
}

bool is_secret_name(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char letter) { return std::tolower(letter); });
  for (const std::string_view harmless : kHarmlessWords) {
    if (const size_t at = lower.find(harmless); at != std::string::npos) {
      lower.erase(at, harmless.size());
    }
  }
  return contains_any(lower, kSecretWords) ||
         std::ranges::any_of(kSecretParts,
                             [&](std::string_view part) { return is_part_of_name(lower, part); });
}

/// The name that ends before `end`; quotes and spaces may stand between.
std::string_view name_before(std::string_view text, size_t end) {
  const size_t last = text.substr(0, end).find_last_not_of(" \t'\"");
  if (last == std::string_view::npos) return {};
  const std::string_view before = text.substr(0, last + 1);
  const size_t between = before.find_last_of(kBetweenNames);
  return between == std::string_view::npos ? before : before.substr(between + 1);
}

/// Where the first value begins that has the name of a secret: behind "token=", "token:" or
/// "--token ".
size_t begin_of_secret(std::string_view text) {
  for (size_t i = text.find_first_of("=: \t\n"); i != std::string_view::npos;
       i = text.find_first_of("=: \t\n", i + 1)) {
    const std::string_view name = name_before(text, i);
    // A colon also follows a path of a list of paths, and the https of an address.
    const bool is_assigned =
        text[i] == '=' || (text[i] == ':' && name.find('/') == std::string_view::npos);
    const bool is_option = name.starts_with('-') && i + 1 < text.size();
    if ((is_assigned || is_option) && is_secret_name(name)) return i + 1;
  }
  return std::string_view::npos;
}

/// Hides what is before the host in addresses such as https://user:password@host. Without
/// "https://" it must have a colon to be hidden.
void hide_passwords_of_addresses(std::string& text) {
  constexpr const char* kAroundAddress = " \t\r\n/,;='\"(";
  for (size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at + 1)) {
    while (text.find('@', at + 1) < text.find_first_of(kAroundAddress, at + 1)) {
      at = text.find('@', at + 1);  // a password may have an @, too
    }
    const size_t before = at == 0 ? std::string::npos : text.find_last_of(kAroundAddress, at - 1);
    const size_t begin = before == std::string::npos ? 0 : before + 1;
    const bool has_scheme = begin >= 3 && text.compare(begin - 3, 3, "://") == 0;
    if (!has_scheme && text.find(':', begin) >= at) continue;
    text.replace(begin, at - begin, kHidden);
    at = begin + kHidden.size();
  }
}

}  // namespace

std::string without_secrets(std::string_view text) {
  const size_t secret = begin_of_secret(text);
  std::string shown(text.substr(0, secret));
  hide_passwords_of_addresses(shown);
  return secret == std::string_view::npos ? shown : shown.append(kHidden);
}

std::vector<std::string> without_secrets(std::vector<std::string> words) {
  bool is_next_secret = false;
  for (std::string& word : words) {
    const bool is_option = word.starts_with("-");
    const bool names_secret =
        is_option && word.find('=') == std::string::npos && is_secret_name(word);
    word = is_next_secret && !is_option ? std::string(kHidden)
                                        : without_secrets(std::string_view(word));
    is_next_secret = names_secret;
  }
  return words;
}

}  // namespace redline
