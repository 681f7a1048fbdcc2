// UTF-8 validation: RFC 3629 (F. Yergeau, 2003), which excludes surrogates, overlong forms and code points above
// U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace text {

// The index of the first byte that is not UTF-8, or the size of the text.
size_t find_invalid_utf8(std::string_view text);

}  // namespace text
