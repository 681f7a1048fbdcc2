// Helpers that build HTML elements.
#pragma once

#include <string>

#include "framework/artifacts/files/encode.h"

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

inline std::string table_cell(const std::string& text) { return text_element("td", "", text); }
inline std::string number_cell(const std::string& text) { return text_element("td", "class=\"number\"", text); }
// The line sample of a colour, and a name.
std::string key_cell(size_t colour, const std::string& name);
inline std::string table_row(const std::string& cells) { return element("tr", "", cells); }

// A table that the reader may scroll. `rows`: on a line each.
inline std::string wide_table(const std::string& attributes, const std::string& rows) {
  return element("div", "class=\"wide\"", element("table", attributes, "\n" + rows + "\n"));
}

inline std::string quiet_line(const std::string& text) { return text_element("p", "class=\"quiet\"", text) + "\n"; }

}  // namespace tenon::reporting
