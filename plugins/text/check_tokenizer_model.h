// Checks a SentencePiece model before the library loads it. The file is untrusted, and the library follows the offsets
// in it without checking them.
#pragma once

#include <string>
#include <string_view>

namespace text {

// `model`: a serialized ModelProto of sentencepiece_model.proto. Throws tenon::DataError that starts with `place` if
// the fields are cut short, if a table of character replacements (precompiled_charsmap) leads outside itself, or if
// more user-defined symbols begin with each other than the library has room for. Other errors are left to the library.
void check_tokenizer_model(std::string_view model, const std::string& place);

}  // namespace text
