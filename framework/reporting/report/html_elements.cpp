#include "framework/reporting/report/html_elements.h"

#include "framework/artifacts/drawing/line_chart.h"

#include <algorithm>
#include <string_view>

namespace tenon::reporting {

namespace {

bool is_separator(char letter) { return letter == '.' || letter == '_' || letter == '/'; }

std::string format_long_word(std::string_view word) {
  std::string text;
  size_t begin = 0;
  for (size_t i = 1; i + 1 < word.size(); ++i) {
    if (!is_separator(word[i]) || is_separator(word[i + 1])) continue;
    text += artifacts::escape_html(word.substr(begin, i + 1 - begin)) + "<wbr>";
    begin = i + 1;
  }
  return text + artifacts::escape_html(word.substr(begin));
}

}  // namespace

std::string key_cell(size_t colour, const std::string& name) {
  artifacts::ChartSeries series;
  series.colour = colour;
  return element("td", "class=\"name\"", artifacts::draw_key(series) + format_text(name));
}

std::string format_text(const std::string& text) {
  constexpr size_t kLong = 20;  // a shorter word moves to the next line
  constexpr const char* kBlanks = " \n\t";
  std::string printed;
  for (size_t begin = 0; begin < text.size();) {
    const size_t word = std::min(text.find_first_not_of(kBlanks, begin), text.size());
    const size_t end = std::min(text.find_first_of(kBlanks, word), text.size());
    const std::string_view found = std::string_view(text).substr(word, end - word);
    printed += text.substr(begin, word - begin);
    printed += found.size() < kLong ? artifacts::escape_html(found) : format_long_word(found);
    begin = end;
  }
  return printed;
}

}  // namespace tenon::reporting
