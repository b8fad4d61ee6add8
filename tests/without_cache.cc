// Tests read traces anew and leave the user's cache alone; so do the programs that they start.
#include <cstdlib>

namespace {

[[maybe_unused]] const int kIsOff = setenv("REDLINE_CACHE", "off", 1);

}  // namespace
