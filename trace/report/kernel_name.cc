#include "trace/report/kernel_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <vector>

#include "base/terminal.h"
#include "base/text_search.h"

namespace redline::trace {
namespace {

using std::string_view;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

void erase_all(std::string& text, string_view part) {
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) {
    text.erase(at, part.size());
  }
}

// Drops the argument list at the end of a function's name, and " const" behind it.
void drop_arguments(std::string& name) {
  if (name.empty() || name.back() != ')') return;
  int depth = 0;
  for (size_t at = name.size(); at-- > 0;) {
    if (name[at] == ')') ++depth;
    if (name[at] == '(' && --depth == 0) {
      if (at > 0) name.resize(at);
      return;
    }
  }
}

// The brackets around a place in a name. Those of "(8)>(0)" compare: they open and close nothing.
class Brackets {
 public:
  void pass(char c) {
    if (c == '<' || c == '(') open_ += c;
    if (c == '>' && open_.ends_with('<')) open_.pop_back();
    if (c != ')') return;
    while (open_.ends_with('<')) open_.pop_back();
    if (!open_.empty()) open_.pop_back();
  }
  [[nodiscard]] size_t depth() const { return open_.size(); }

 private:
  std::string open_;
};

// Drops what stands before the function's own name: "void " or "std::enable_if<true, void>::type ".
void drop_return_type(std::string& name) {
  Brackets around;
  size_t begin = 0;
  for (size_t at = 0; at < name.size(); ++at) {
    const char c = name[at];
    around.pass(c);
    if (c == ' ' && around.depth() == 0 && at + 1 < name.size() && is_word(name[at + 1])) {
      begin = at + 1;
    }
  }
  name.erase(0, begin);
}

// Replaces "a::b::c" by "c" everywhere.
std::string without_namespaces(string_view name) {
  std::string out;
  size_t word = 0;
  for (size_t at = 0; at < name.size(); ++at) {
    if (name.substr(at, 2) == "::") {
      out.resize(word);
      ++at;
      continue;
    }
    if (!is_word(name[at])) word = out.size() + 1;
    out += name[at];
  }
  return out;
}

// The arguments of the first template in the name.
std::vector<string_view> template_arguments(string_view name) {
  std::vector<string_view> arguments;
  const size_t open = name.find('<');
  if (open == string_view::npos) return arguments;
  Brackets around;
  size_t begin = open + 1;
  for (size_t at = open; at < name.size(); ++at) {
    const char c = name[at];
    around.pass(c);
    if ((c == ',' && around.depth() == 1) || around.depth() == 0) {
      arguments.push_back(name.substr(begin, at - begin));
      begin = at + 1;
    }
    if (around.depth() == 0) break;
  }
  return arguments;
}

bool tells_nothing(string_view word) {
  constexpr std::array<string_view, 40> kWords = {"float",
                                                  "double",
                                                  "int",
                                                  "long",
                                                  "unsigned",
                                                  "char",
                                                  "bool",
                                                  "short",
                                                  "true",
                                                  "false",
                                                  "const",
                                                  "void",
                                                  "Half",
                                                  "BFloat16",
                                                  "__half",
                                                  "__nv_bfloat16",
                                                  "lambda",
                                                  "operator",
                                                  "Array",
                                                  "array",
                                                  "tuple",
                                                  "float2",
                                                  "float4",
                                                  "int8_t",
                                                  "uint8_t",
                                                  "TrivialOffsetCalculator",
                                                  "OffsetCalculator",
                                                  "LoadWithoutCast",
                                                  "StoreWithoutCast",
                                                  "BinaryFunctor",
                                                  "AUnaryFunctor",
                                                  "BUnaryFunctor",
                                                  "gpu_kernel_impl",
                                                  "gpu_kernel_impl_nocast",
                                                  "TensorIteratorBase",
                                                  "TensorIterator",
                                                  "ReduceOp",
                                                  "func_wrapper_t",
                                                  "size_t",
                                                  "cudnnKernelDataType_t"};
  // "BinaryOpScalarFunctor<…, std::divides<float>>": the operation comes behind it.
  constexpr std::array<string_view, 4> kAnyOperation = {"UnaryOp", "BinaryOp", "TernaryOp",
                                                        "PointwiseOp"};
  const bool is_any_operation =
      word.ends_with("Functor") &&
      std::ranges::any_of(kAnyOperation, [&](string_view each) { return word.starts_with(each); });
  return word.size() < 3 || std::isdigit(static_cast<unsigned char>(word.front())) != 0 ||
         word.ends_with("Metadata") || word.starts_with("cublasGem") || is_any_operation ||
         is_any(word, kWords);
}

// The first word in the template's arguments that names an operation; empty if none does.
string_view operation_of(string_view name) {
  const size_t open = name.find('<');
  if (open == string_view::npos) return {};
  for (size_t at = open; at < name.size();) {
    if (!is_word(name[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < name.size() && is_word(name[end])) ++end;
    const string_view word = name.substr(at, end - at);
    if (!tells_nothing(word)) return word;
    at = end;
  }
  return {};
}

/// Where the first word begins in which `names` differ.
size_t begin_of_difference(const std::set<std::string>& names) {
  // Names in order: the first and the last have the shortest beginning in common.
  const auto differ = std::ranges::mismatch(*names.begin(), *names.rbegin());
  auto begin = static_cast<size_t>(differ.in1 - names.begin()->begin());
  while (begin > 0 && continues_letter((*names.rbegin())[begin])) --begin;
  constexpr size_t kLongestWord = 12;
  const size_t before = string_view(*names.begin()).substr(0, begin).find_last_of("_<,");
  return before != string_view::npos && begin - before <= kLongestWord ? before + 1 : begin;
}

/// `text` and behind it, if there is some room, what `name` has from `begin` on.
std::string show_behind(const std::string& text, const std::string& name, size_t begin,
                        size_t width) {
  constexpr size_t kLeast = 10;
  const size_t left = columns(text) < width ? width - columns(text) - 1 : 0;
  return left < kLeast ? text : text + " " + elide(string_view(name).substr(begin), left);
}

/// `name` with what is before `begin` cut to a third of `width`, or to what the rest leaves free.
std::string show_from(const std::string& name, size_t begin, size_t width) {
  const string_view rest = string_view(name).substr(begin);
  const size_t left = width > columns(rest) ? width - columns(rest) : 0;
  const size_t head = std::max(width / 3, left);
  return elide(string_view(name).substr(0, begin), head) + elide(rest, width - head);
}

// Not so "Memcpy HtoD (Pageable -> Device)", "aten::addmm", "nn.py(7): forward", "<built-in id>".
bool is_signature(string_view name) {
  if (name.starts_with("Memcpy ") || name.starts_with("Memset ")) return false;
  return name.find_first_of("(<", 1) != string_view::npos && name.front() != '<' &&
         name.find(".py(") == string_view::npos;
}

// `name` without return type, arguments and namespaces: "bn_bw_1C11_kernel_new<float,512,true,1>".
std::string plain_kernel_name(string_view name) {
  std::string plain(name);
  drop_arguments(plain);
  erase_all(plain, "(anonymous namespace)::");
  drop_return_type(plain);
  // cuBLAS calls some functions just "kernel": the namespace tells which.
  constexpr string_view kBare = "::kernel<";
  const size_t bare = plain.find(kBare);
  if (bare != std::string::npos && bare < plain.find('<')) plain.replace(bare, 2, "_");
  plain = without_namespaces(plain);
  erase_all(plain, " const");
  erase_all(plain, " ");
  // CUTLASS wraps everything into one kernel template; the name is what it wraps.
  const auto arguments = template_arguments(plain);
  const string_view function = string_view(plain).substr(0, plain.find('<'));
  constexpr std::array<string_view, 3> kWrappers = {"Kernel", "Kernel2", "device_kernel"};
  if (arguments.size() == 1 && is_any(function, kWrappers)) return std::string(arguments.front());
  return plain;
}

}  // namespace

std::string short_operator_name(string_view name, size_t width) {
  return name.find('#') == string_view::npos ? elide_middle(name, width) : elide(name, width);
}

std::string short_kernel_name(string_view name, size_t width) {
  if (!is_signature(name)) return elide_middle(name, width);
  const std::string plain = plain_kernel_name(name);
  if (columns(plain) <= width) return elide(plain, width);
  const string_view operation = operation_of(plain);
  if (operation.empty() || operation.size() + 8 > width) {
    const std::string function = plain.substr(0, plain.find('<'));
    return elide_middle(columns(function) + 8 > width ? function : plain, width);
  }
  const std::string tail = "<" + std::string(operation) + ">";
  return elide(plain.substr(0, plain.find('<')), width - tail.size()) + tail;
}

std::vector<std::string> short_kernel_names(std::span<const string_view> names, size_t width) {
  std::vector<std::string> shown, plain;
  std::map<std::string, std::set<std::string>> alike;  // plain names by what is shown
  for (const string_view name : names) {
    shown.push_back(short_kernel_name(name, width));
    plain.push_back(is_signature(name) ? plain_kernel_name(name) : std::string(name));
    alike[shown.back()].insert(plain.back());
  }
  std::map<std::string, std::string> apart;  // what is shown by plain name
  for (const auto& same : alike) {
    const std::string& text = same.first;
    const std::set<std::string>& group = same.second;
    if (group.size() < 2) continue;
    const size_t begin = begin_of_difference(group);
    // An operation, as in "vectorized_…<MulFunctor>", tells more than what differs, so it stays.
    const std::string operation = "<" + std::string(operation_of(*group.begin())) + ">";
    const bool shows_operation = text.ends_with(operation);
    const auto shown_apart = [&](const std::string& name) {
      return shows_operation ? show_behind(text, name, begin, width)
                             : show_from(name, begin, width);
    };
    std::set<std::string> texts;
    for (const std::string& name : group) texts.insert(shown_apart(name));
    if (texts.size() < group.size()) continue;
    for (const std::string& name : group) apart[name] = shown_apart(name);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const auto found = apart.find(plain[i]);
    if (found != apart.end()) shown[i] = found->second;
  }
  return shown;
}

}  // namespace redline::trace
