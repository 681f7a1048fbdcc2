#include "framework/artifacts/escape_html.h"

#include "framework/artifacts/metric_values.h"

namespace tenon::artifacts {

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char letter : make_utf8(text)) {
    const auto code = static_cast<unsigned char>(letter);
    const bool is_control = (code < 0x20 && letter != '\t' && letter != '\n') || code == 0x7F;
    switch (letter) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: is_control ? escaped += "\xEF\xBF\xBD" : escaped += letter;
    }
  }
  return escaped;
}

}  // namespace tenon::artifacts
