#include "profiler/nvtx_static.h"
