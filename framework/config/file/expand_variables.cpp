#include "framework/config/file/expand_variables.h"

#include <cstdlib>

#include "framework/config/toml/value.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/printable.h"

namespace tenon::config {

using support::Error;
using support::ErrorKind;

namespace {

const std::string kBegin = "${";
const std::string kDefault = ":-";

bool is_name(const std::string& text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == text.npos;
}

// The value of "NAME" or "NAME:-text".
std::string read_variable(const std::string& inside, const std::string& text, const std::string& where) {
  const size_t at = inside.find(kDefault);
  const std::string name = inside.substr(0, at);
  if (!is_name(name))
    throw Error(ErrorKind::configuration, where + " is " + to_toml(text) + ", and \"" + name +
                                              "\" is not the name of an environment variable; expected ${NAME} or "
                                              "${NAME:-text}, or $${ for ${ itself");
  const char* const value = std::getenv(name.c_str());
  if (value && !support::is_utf8(value))
    throw Error(ErrorKind::configuration, where + " is " + to_toml(text) + ", but the environment variable " + name +
                                              " is not UTF-8; expected UTF-8, as in a run file");
  if (value && (*value != '\0' || at == inside.npos)) return value;
  if (at != inside.npos) return inside.substr(at + kDefault.size());
  throw Error(ErrorKind::configuration, where + " is " + to_toml(text) + ", but the environment variable " + name +
                                            " is not set; expected a value: set it, or write ${" + name + ":-text}");
}

}  // namespace

std::string expand_variables(const std::string& text, const SourceLocation& place, const std::string& key) {
  std::string expanded;
  size_t done = 0;
  for (size_t at = text.find(kBegin); at != text.npos; at = text.find(kBegin, done)) {
    if (at > done && text[at - 1] == '$') {
      expanded += text.substr(done, at - done - 1) + kBegin;
      done = at + kBegin.size();
      continue;
    }
    const size_t end = text.find('}', at);
    const std::string where = to_string(place) + ": " + key;
    if (end == text.npos)
      throw Error(ErrorKind::configuration, where + " is " + to_toml(text) +
                                                ", where ${ has no }; expected ${NAME} or ${NAME:-text}, or $${ for ${ "
                                                "itself");
    const size_t inside = at + kBegin.size();
    expanded += text.substr(done, at - done) + read_variable(text.substr(inside, end - inside), text, where);
    done = end + 1;
  }
  return expanded + text.substr(done);
}

std::string escape_variables(const std::string& text) {
  std::string escaped;
  size_t done = 0;
  for (size_t at = text.find(kBegin); at != text.npos; at = text.find(kBegin, done)) {
    escaped += text.substr(done, at - done) + "$" + kBegin;
    done = at + kBegin.size();
  }
  return escaped + text.substr(done);
}

void expand_variables(Node& node, const std::string& key) {
  if (auto* const text = std::get_if<std::string>(&node.value)) *text = expand_variables(*text, node.place, key);
  if (Node::Array* const array = node.as_array())
    for (Node& element : *array) expand_variables(element, key);
  if (Node::Table* const table = node.as_table())
    for (auto& [name, value] : *table) expand_variables(value, key.empty() ? name : key + "." + name);
}

}  // namespace tenon::config
