// The host's side of the extension TENON_CHECKPOINTING: segments of a model that backward recomputes.
#pragma once

#include <tenon/checkpointing.h>

namespace tenon::components {

const tenon_checkpointing& checkpointing_extension();

}  // namespace tenon::components
