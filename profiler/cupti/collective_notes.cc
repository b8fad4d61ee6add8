#include "profiler/cupti/collective_notes.h"

#include <algorithm>

#include "base/json_values.h"
#include "trace/emit/collective_names.h"

namespace redline::cupti {
namespace {

using Json = nlohmann::ordered_json;

// Kineto writes these only if all of them are known.
constexpr const char* kMessage[] = {"Collective name", "In msg nelems", "Out msg nelems",
                                    "Group size", "dtype"};
constexpr const char* kMore[] = {"Input Tensors start",
                                 "Output Tensors start",
                                 "In split size",
                                 "Out split size",
                                 "Process Group Name",
                                 "Process Group Description",
                                 "Process Group Ranks",
                                 "Dst Rank",
                                 "Src Rank",
                                 "Seq",
                                 "Comms Id"};

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return 'a' <= c && c <= 'z' ? char(c - 'a' + 'A') : c; });
  return result;
}

void add_bytes(const Json& note, Json& args) {
  const Json& type = note["dtype"];
  if (!type.is_string() || !note["In msg nelems"].is_number_integer() ||
      !note["Out msg nelems"].is_number_integer()) {
    return;
  }
  const int64_t size = trace::element_bytes(type.get<std::string>());
  const int64_t elements =
      std::max(note["In msg nelems"].get<int64_t>(), note["Out msg nelems"].get<int64_t>());
  int64_t bytes = 0;
  if (size > 0 && !__builtin_mul_overflow(elements, size, &bytes)) args["Bytes"] = bytes;
}

}  // namespace

std::string collective_args(std::string_view name, const CollectiveNote& note) {
  Json args = Json::object();
  const Json said = Json::parse("{" + note.members + "}", nullptr, false);
  if (said.is_object()) {
    const auto is_said = [&](const char* key) { return said.contains(key); };
    const bool has_message = std::ranges::all_of(kMessage, is_said);
    for (const char* key : kMessage) {
      if (has_message) args[key] = said[key];
    }
    for (const char* key : kMore) {
      if (is_said(key)) args[key] = said[key];
    }
    if (has_message) add_bytes(said, args);
  }
  // NCCL's word comes first, because one kernel of NCCL may run several algorithms.
  const std::string algorithm =
      note.algorithm.empty() ? upper(trace::kernel_algorithm(name)) : note.algorithm;
  const std::string protocol =
      note.protocol.empty() ? upper(trace::kernel_protocol(name)) : note.protocol;
  if (!algorithm.empty()) args["Algorithm"] = algorithm;
  if (!protocol.empty()) args["Protocol"] = protocol;
  // dump() of the whole object would write no space behind the colons, unlike the rest of a trace.
  std::string members;
  for (const auto& [key, value] : args.items()) {
    members += ", " + Json(key).dump() + ": " + json_text(value);
  }
  return members;
}

}  // namespace redline::cupti
