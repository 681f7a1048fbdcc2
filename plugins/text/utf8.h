// Whether bytes are UTF-8: RFC 3629 (F. Yergeau, 2003), which leaves out surrogates, overlong forms and what lies above
// U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace text {

// Where the first byte stands that is not UTF-8, or the size of the text.
size_t find_invalid_utf8(std::string_view text);

}  // namespace text
