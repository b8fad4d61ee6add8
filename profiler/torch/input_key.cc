#include "profiler/torch/operator_args.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace redline::profiler {
namespace {

enum class Part : uint64_t { kOther, kTensor, kUndefined, kInt, kBool, kDouble, kList };

class Key {
 public:
  void add(uint64_t value) {
    const auto product =
        static_cast<unsigned __int128>(hash_ ^ value ^ kPrime1) * (kPrime2 + ++count_);
    hash_ = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  void add(Part part) { add(static_cast<uint64_t>(part)); }
  void add(c10::IntArrayRef numbers) {
    add(numbers.size());
    for (const int64_t number : numbers) add(static_cast<uint64_t>(number));
  }
  void add(std::string_view text) {
    add(text.size());
    for (; !text.empty(); text.remove_prefix(std::min<size_t>(text.size(), 8))) {
      uint64_t word = 0;
      std::memcpy(&word, text.data(), std::min<size_t>(text.size(), 8));
      add(word);
    }
  }
  [[nodiscard]] uint64_t hash() const { return hash_ | 1; }  // never 0

 private:
  static constexpr uint64_t kPrime1 = 0x9E3779B97F4A7C15, kPrime2 = 0xD6E8FEB86659FD93;
  uint64_t hash_ = 0;
  uint64_t count_ = 0;
};

bool add_tensor(Key& key, const at::Tensor& tensor) {
  if (!tensor.defined()) {
    key.add(Part::kUndefined);
    return true;
  }
  if (tensor.is_nested() || tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
    return false;
  }
  key.add(Part::kTensor);
  key.add(static_cast<uint64_t>(tensor.scalar_type()));
  key.add(tensor.sizes());
  const bool has_strides = tensor.layout() == at::kStrided;
  key.add(static_cast<uint64_t>(has_strides));
  if (has_strides) key.add(tensor.strides());
  return true;
}

/// False if the value is of a kind that this hash does not know.
bool add_value(Key& key, const c10::IValue& value) {
  if (value.isTensor()) return add_tensor(key, value.toTensor());
  if (value.isInt()) {
    key.add(Part::kInt);
    key.add(static_cast<uint64_t>(value.toInt()));
  } else if (value.isBool()) {
    key.add(Part::kBool);
    key.add(static_cast<uint64_t>(value.toBool()));
  } else if (value.isDouble()) {
    key.add(Part::kDouble);
    const double number = value.toDouble();
    uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof(bits));
    key.add(bits);
  } else if (value.isScalar() || value.isList()) {
    return false;
  } else {
    key.add(Part::kOther);  // the trace says nothing of the value, so it does not matter
  }
  return true;
}

bool add_input(Key& key, const c10::IValue& value) {
  if (!value.isList()) return add_value(key, value);
  const auto elements = value.toListRef();
  key.add(Part::kList);
  key.add(static_cast<uint64_t>(value.isTensorList()));
  key.add(elements.size());
  if (elements.size() > kLongestList) return value.isTensorList() || elements[0].isScalar();
  for (const auto& element : elements) {
    if (!add_value(key, element)) return false;
  }
  return true;
}

}  // namespace

uint64_t key_of_inputs(const at::RecordFunction& function) {
  Key key;
  key.add(static_cast<uint64_t>(function.scope()));
  key.add(std::string_view(function.name()));
  for (const auto& input : function.inputs()) {
    if (!add_input(key, input)) return 0;
  }
  key.add(named_inputs());
  return key.hash();
}

}  // namespace redline::profiler
