// Checks what must hold for every trace that the reader accepts, whatever the file.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "trace/model/model.h"

namespace redline::fuzz {

/// The first promise of model.h that `trace` breaks; "" if it keeps all.
[[nodiscard]] std::string broken_promise(const trace::Trace& trace);

/// Writes `trace` alone into a file of its own, plain or gzip by the name's end.
[[nodiscard]] tl::expected<void, std::string> rewrite_trace(const trace::Trace& trace,
                                                            const std::string& path);

/// Writes `trace` and reads the result. Returns what is not valid JSON or not equal; "" if nothing.
[[nodiscard]] std::string broken_round_trip(const trace::Trace& trace);

/// Reads `bytes` as the reader reads files: plain, gz or zst, by their content. Null if the reader
/// refuses them with a sentence.
[[nodiscard]] std::shared_ptr<const trace::Trace> read_bytes(std::string_view bytes);

/// If `what` is not empty, it is a finding: prints it to stderr and aborts.
void require_none(const std::string& what);

}  // namespace redline::fuzz
