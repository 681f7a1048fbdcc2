// Reads arbitrary bytes as a text, up to the first line break, and a SentencePiece model. A wrong model is refused with
// tenon::DataError. The tokens of the text are below the vocabulary size of an accepted one, and can be decoded.
#include <algorithm>
#include <string>
#include <vector>

#include <tenon/error.hpp>

#include "plugins/text/tokenizer.h"
#include "tests/fuzz/fuzz_target.h"

TENON_FUZZ_TARGET(tokenizer) {
  using namespace tenon::fuzz;
  std::string_view model = as_text(input);
  const std::string_view line = take_until(model, "\n");
  try {
    const text::Tokenizer tokenizer(std::string(model), "fuzzed.model");
    const int64_t size = tokenizer.vocabulary_size();
    require(size > 0);
    const text::SpecialIds special = tokenizer.special_ids();
    for (const int64_t id : {special.pad, special.begin, special.end}) require(id >= -1 && id < size);
    std::vector<int32_t> ids;
    tokenizer.append_ids(line, ids);
    require(std::ranges::all_of(ids, [&](int32_t id) { return id >= 0 && id < size; }));
    (void)tokenizer.decode({ids.begin(), ids.end()});
    for (int64_t id = 0; id < std::min<int64_t>(size, 300); ++id) (void)tokenizer.decode({id});
  } catch (const tenon::DataError&) {
  }
}
