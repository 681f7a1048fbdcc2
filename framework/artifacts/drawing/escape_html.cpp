#include "framework/artifacts/drawing/escape_html.h"

#include "framework/support/text/printable.h"

namespace tenon::artifacts {

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char letter : support::escape_control_characters(text)) {
    switch (letter) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += letter;
    }
  }
  return escaped;
}

}  // namespace tenon::artifacts
