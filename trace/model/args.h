// Values out of an event's args, parsed when asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/model/model.h"

namespace redline::trace {

class Args {
 public:
  Args(const Trace& trace, SliceId slice) : Args(trace.event_text(slice)) {}
  explicit Args(std::string_view event_text);

  [[nodiscard]] std::optional<double> number(std::string_view key) const;
  [[nodiscard]] std::optional<int64_t> integer(std::string_view key) const;
  [[nodiscard]] std::string text(std::string_view key) const;      ///< empty where absent
  [[nodiscard]] std::string_view raw(std::string_view key) const;  ///< the JSON value as it stands

 private:
  std::string_view object_;
};

}  // namespace redline::trace
