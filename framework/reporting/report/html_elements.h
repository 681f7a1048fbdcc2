// Helpers that build HTML elements.
#pragma once

#include <string>

#include "framework/artifacts/drawing/escape_html.h"

namespace tenon::reporting {

inline std::string element(const std::string& name, const std::string& attributes, const std::string& content) {
  return "<" + name + (attributes.empty() ? "" : " " + attributes) + ">" + content + "</" + name + ">";
}

// Escapes text. A line may end within a long name, such as model.params.hidden_channels, after a dot, a slash or an
// underscore. This does not change the text that a reader copies.
std::string format_text(const std::string& text);

inline std::string text_element(const std::string& name, const std::string& attributes, const std::string& text) {
  return element(name, attributes, name == "title" ? artifacts::escape_html(text) : format_text(text));
}

inline std::string section(const std::string& heading, const std::string& content, const std::string& attributes = "") {
  return element("section", attributes, "\n" + text_element("h2", "", heading) + "\n" + content) + "\n";
}

}  // namespace tenon::reporting
