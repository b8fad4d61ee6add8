#include "trace/emit/element_bytes.h"

#include <array>
#include <utility>

namespace redline::trace {

int64_t element_bytes(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, int64_t>, 25> kSizes = {{
      {"float", 4},         {"Float", 4}, {"double", 8},      {"Double", 8},
      {"half", 2},          {"Half", 2},  {"c10::Half", 2},   {"c10::BFloat16", 2},
      {"BFloat16", 2},      {"int", 4},   {"Int", 4},         {"long", 8},
      {"long int", 8},      {"Long", 8},  {"short", 2},       {"Short", 2},
      {"unsigned char", 1}, {"Byte", 1},  {"signed char", 1}, {"Char", 1},
      {"bool", 1},          {"Bool", 1},  {"char", 1},        {"Float8_e4m3fn", 1},
      {"Float8_e5m2", 1},
  }};
  for (const auto& [name, bytes] : kSizes) {
    if (name == type) return bytes;
  }
  return 0;
}

}  // namespace redline::trace
