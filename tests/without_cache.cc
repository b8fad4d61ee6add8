// Switches the cache off, so that tests, and the programs that they start, read traces anew and
// leave the user's cache alone.
#include <cstdlib>

namespace {

[[maybe_unused]] const int kIsOff = setenv("REDLINE_CACHE", "off", 1);

}  // namespace
