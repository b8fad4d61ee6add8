// Args as valid JSON, whatever the file holds: NaN, raw control characters, torn objects.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace redline::trace {

class JsonRepair {
 public:
  JsonRepair();
  ~JsonRepair();

  /// `json` as it stands where it is sound. Else what is no UTF-8 becomes U+FFFD; if that is not
  /// enough, each member whose value is no JSON becomes a string, and what is no member is left
  /// out. Lives until the next call.
  [[nodiscard]] std::string_view sound(std::string_view json);

 private:
  class Check;

  [[nodiscard]] std::string members(std::string_view object);

  std::unique_ptr<Check> check_;
  std::string repaired_;
};

}  // namespace redline::trace
