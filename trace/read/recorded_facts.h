// What a recorder says of a job in the trace's top-level keys, beside the events.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "trace/model/model.h"

namespace redline::trace {

/// What the recorder saw of a job on the CPU that decides what bf16 would bring.
struct CpuPrecision {
  std::optional<bool> computes_bf16;  ///< ("run": {"machine": {"bf16": true}})
  bool uses_autocast = false;         ///< ("torch": {"autocast": {"cpu": "bfloat16"}})
  /// Most parameters are of this type ("torch": {"parameters": {"float32": N}}).
  std::string parameters;
};

/// Parses the keys once, when it is made: those of a large job have all its process groups.
class RecordedFacts {
 public:
  explicit RecordedFacts(const Trace& trace) : RecordedFacts(trace.metadata()) {}
  explicit RecordedFacts(const Metadata& metadata);

  /// A value of one of the top-level objects; null if it is not there.
  [[nodiscard]] const nlohmann::json& value(const char* object, const char* key) const;
  /// The same where it is a text, else "".
  [[nodiscard]] std::string text(const char* object, const char* key) const;

  /// Why a flight recorder wrote the trace ("redline": {"reason": "…"}), such as a step that has
  /// not ended; "" for other traces.
  [[nodiscard]] std::string reason() const { return text("redline", "reason"); }

  /// Samples that all ranks together take in a step; nullopt if the recorder did not know
  /// ("redline": {"samples_per_step": N}).
  [[nodiscard]] std::optional<double> samples_per_step() const;

  /// Tokens that all ranks together take in a step: samples times the length of their sequences.
  /// nullopt unless the recorder saw token ids that the model reads as sequences.
  [[nodiscard]] std::optional<double> tokens_per_step() const;

  /// Whether the trace is of inference ("redline": {"inference": true}).
  [[nodiscard]] bool is_inference() const;

  /// Whether Redline recorded the trace: then it has no GPU work of kinds that we do not know.
  [[nodiscard]] bool is_of_redline() const;
  /// Whether Redline recorded a program without PyTorch, such as one of JAX or CuPy: Redline's
  /// traces of PyTorch have "torch" or, of LibTorch, "torch_version".
  [[nodiscard]] bool is_without_pytorch() const;
  /// Whether Redline recorded a program without Python, such as one of LibTorch. The start-up hook
  /// is Python's, so it sets no knob there.
  [[nodiscard]] bool is_without_python() const;

  /// Cores that the process could run on ("run": {"machine": {"usable_cores": N}}).
  [[nodiscard]] std::optional<int64_t> usable_cores() const;
  [[nodiscard]] CpuPrecision cpu_precision() const;

  /// Why the recorder has not all of the GPU's work, or none of it ("redline": {"gpu": {"off":
  /// "…"}}). Single lost records are in dropped_events().
  [[nodiscard]] std::optional<std::string> gpu_gap() const;

  /// Events that the recorder, CUPTI or the writer's size limit dropped ("redline": {"dropped": N,
  /// "gpu": {"dropped": N, …}}, "redline_size_limit": {"dropped_events": N}). Of a buffer that was
  /// refused, CUPTI lost at least one record.
  [[nodiscard]] int64_t dropped_events() const;

  /// How many ranks `redline merge` put into the file, windows of one counted once; 0 in any other.
  /// Such a file mixes its ranks: its steps, sums and lanes are those of all ranks together.
  [[nodiscard]] int64_t merged_ranks() const;

 private:
  [[nodiscard]] std::optional<double> number(const char* object, const char* key) const;

  std::shared_ptr<const nlohmann::json> top_;
};

}  // namespace redline::trace
