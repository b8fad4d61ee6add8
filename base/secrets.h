// Keeps secrets out of whatever shows a variable of the environment or a command line: traces, step
// logs, reports, best.json, the files of a bug report.
//
// A secret is known by the name before it (api_key, TOKEN, --password) or by its place in an
// address (https://user:password@host). Nothing tells that any other text is a secret. What only
// looks like a name of a secret hides a harmless value; that is the cheaper mistake.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace redline {

/// `text`, a variable's value or a line for a shell. From the first value with the name of a secret
/// on, all of it is replaced by "***": quotes and separators do not tell surely where it ends.
[[nodiscard]] std::string without_secrets(std::string_view text);

/// The same for the words of a command line. A word such as "--api-key" hides the word that
/// follows.
[[nodiscard]] std::vector<std::string> without_secrets(std::vector<std::string> words);

}  // namespace redline
