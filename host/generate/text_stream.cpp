#include "host/generate/text_stream.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "framework/reporting/terminal/write_output.h"

namespace tenon::host {

size_t count_complete(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  size_t size = text.size();
  for (int i = 0; i < 3 && text.substr(0, size).ends_with(kReplacement); ++i) size -= kReplacement.size();
  return size;
}

void TextStream::show(std::string_view text) {
  const size_t end = count_complete(text);
  if (end <= written_) return;
  reporting::write_output_text(text.substr(written_, end - written_));
  std::fflush(stdout);
  written_ = end;
}

void TextStream::finish(std::string_view text) {
  reporting::write_output_text(std::string(text.substr(std::min(written_, text.size()))) + "\n");
  written_ = text.size();
}

}  // namespace tenon::host
