#include "trace/emit/collective_names.h"

#include <array>
#include <string>
#include <utility>

#include "trace/emit/name_kinds.h"

namespace redline::trace {
namespace {

// The letters of the name in lower case, without what follows the kernel's own name.
std::string letters_of(std::string_view name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  if (const size_t at = name.find(kAnonymous); at != std::string_view::npos) {
    name.remove_prefix(at + kAnonymous.size());
  }
  std::string letters;
  for (const char c : name.substr(0, name.find('('))) {
    if (c >= 'A' && c <= 'Z') letters += static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') letters += c;
  }
  return letters;
}

// Whether `word` stands between underscores (or at the end) in the kernel's own name.
bool has_word(std::string_view name, std::string_view word) {
  name = name.substr(0, name.find('('));
  for (size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool begins = at > 0 && name[at - 1] == '_';
    if (begins && (end == name.size() || name[end] == '_')) return true;
  }
  return false;
}

// As it stands in the kernel's name, and as we call it.
using Word = std::pair<std::string_view, std::string_view>;

template <size_t N>
std::string_view first_word(std::string_view name, const std::array<Word, N>& words) {
  if (!is_communication_kernel(name)) return {};
  for (const auto& [word, said] : words) {
    if (has_word(name, word)) return said;
  }
  return {};
}

}  // namespace

CollectiveKind collective_kind(std::string_view name) {
  // Longer words first where one holds another: "reduce" is in "allreduce".
  constexpr std::array<std::pair<std::string_view, CollectiveKind>, 14> kKinds = {{
      {"allreduce", CollectiveKind::kAllReduce},
      {"crossdevicereduce", CollectiveKind::kAllReduce},  // vLLM's
      {"allgather", CollectiveKind::kAllGather},
      {"reducescatter", CollectiveKind::kReduceScatter},
      {"alltoall", CollectiveKind::kAllToAll},
      {"barrier", CollectiveKind::kBarrier},
      {"broadcast", CollectiveKind::kBroadcast},
      {"sendrecv", CollectiveKind::kSendReceive},
      {"send", CollectiveKind::kSendReceive},
      {"recv", CollectiveKind::kSendReceive},
      {"scatter", CollectiveKind::kScatter},
      {"gather", CollectiveKind::kGather},
      {"reduce", CollectiveKind::kReduce},
      {"coalesced", CollectiveKind::kOther},
  }};
  const std::string letters = letters_of(name);
  for (const auto& [word, kind] : kKinds) {
    if (letters.find(word) != std::string::npos) return kind;
  }
  return CollectiveKind::kOther;
}

std::string_view kind_name(CollectiveKind kind) {
  constexpr std::array<std::string_view, 11> kNames = {
      "all_reduce", "all_gather", "reduce_scatter", "all_to_all",   "barrier", "broadcast",
      "reduce",     "gather",     "scatter",        "send_receive", "other"};
  return kNames[static_cast<size_t>(kind)];
}

bool holds_all_ranks(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kAllGather ||
         kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kAllToAll ||
         kind == CollectiveKind::kBarrier;
}

double bus_factor(CollectiveKind kind, int ranks) {
  const auto n = static_cast<double>(ranks);
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
      return (n - 1) / n;
    default:
      return 1;
  }
}

std::string_view kernel_algorithm(std::string_view name) {
  constexpr std::array<Word, 7> kAlgorithms = {{{"NVLS_TREE", "nvls_tree"},
                                                {"NVLS", "nvls"},
                                                {"COLLNET_DIRECT", "collnet_direct"},
                                                {"COLLNET_CHAIN", "collnet_chain"},
                                                {"PAT", "pat"},
                                                {"RING", "ring"},
                                                {"TREE", "tree"}}};
  return first_word(name, kAlgorithms);
}

std::string_view kernel_protocol(std::string_view name) {
  constexpr std::array<Word, 3> kProtocols = {
      {{"LL128", "LL128"}, {"LL", "LL"}, {"SIMPLE", "Simple"}}};
  return first_word(name, kProtocols);
}

int64_t element_bytes(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, int64_t>, 40> kSizes = {{
      {"float", 4},
      {"Float", 4},
      {"double", 8},
      {"Double", 8},
      {"half", 2},
      {"Half", 2},
      {"BFloat16", 2},
      {"int", 4},
      {"Int", 4},
      {"long", 8},
      {"long int", 8},
      {"Long", 8},
      {"short", 2},
      {"Short", 2},
      {"unsigned char", 1},
      {"Byte", 1},
      {"signed char", 1},
      {"Char", 1},
      {"bool", 1},
      {"Bool", 1},
      {"char", 1},
      {"UInt16", 2},
      {"unsigned short", 2},
      {"short unsigned int", 2},
      {"UInt32", 4},
      {"unsigned int", 4},
      {"UInt64", 8},
      {"unsigned long", 8},
      {"long unsigned int", 8},
      {"ComplexHalf", 4},
      {"complex<c10::Half>", 4},
      {"ComplexFloat", 8},
      {"complex<float>", 8},
      {"ComplexDouble", 16},
      {"complex<double>", 16},
      {"Float8_e4m3fn", 1},
      {"Float8_e5m2", 1},
      {"Float8_e4m3fnuz", 1},
      {"Float8_e5m2fnuz", 1},
      {"Float8_e8m0fnu", 1},
  }};
  // PyTorch's own types stand in "Input type" as in C++, in "dtype" without their namespace.
  if (type.starts_with("c10::")) type.remove_prefix(5);
  for (const auto& [name, bytes] : kSizes) {
    if (name == type) return bytes;
  }
  return 0;
}

}  // namespace redline::trace
