// UTF-8 validation for the text datasets.
#pragma once

#include "framework/formats/unicode.h"

namespace text {

using formats::find_invalid_utf8;

}  // namespace text
