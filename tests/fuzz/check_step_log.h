// Checks what must hold for every step log that the reader accepts, whatever the file.
#pragma once

#include <string>
#include <string_view>

namespace redline::fuzz {

/// Reads `bytes` as a step log, judges the run and writes its reports. Returns the first promise of
/// trace/model/step_log.h that this breaks. Returns "" if it breaks none. Returns "" also if the
/// reader refuses the bytes, because then there is no log that could break a promise.
[[nodiscard]] std::string broken_step_log(std::string_view bytes);

/// A log with sound blocks: their payloads are pieces of `bytes`, each after two bytes with its
/// length. Without this, a checksum would keep all that is not quite right away from the decoder.
[[nodiscard]] std::string in_sound_blocks(std::string_view bytes);

}  // namespace redline::fuzz
