// The enumerations of the archive's schema as those of LibTorch. Each function throws std::invalid_argument for a
// number that the schema does not have.
#pragma once

#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <cstdint>

namespace exported {

c10::ScalarType to_scalar_type(int64_t number);
c10::Layout to_layout(int64_t number);
c10::MemoryFormat to_memory_format(int64_t number);

}  // namespace exported
