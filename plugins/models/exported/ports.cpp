#include "plugins/models/exported/compile.h"

#include <c10/core/ScalarType.h>

#include <cctype>
#include <map>
#include <set>
#include <stdexcept>

#include "plugins/models/exported/schema.h"

namespace exported {
namespace {

// Names of ports consist of a-z, 0-9 and _.
std::string to_port_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    name += std::isalnum(byte) && byte < 0x80 ? static_cast<char>(std::tolower(byte)) : '_';
  }
  if (name.empty() || !std::isalpha(static_cast<unsigned char>(name.front()))) name.insert(0, "input_");
  return name;
}

uint64_t to_dtypes(c10::ScalarType dtype) {
  // With autocast, the results are of a smaller type than in the export.
  if (c10::isFloatingType(dtype)) return TENON_ANY_FLOAT;
  switch (dtype) {
    case c10::kByte: return TENON_DTYPE_BIT(TENON_UINT8);
    case c10::kChar: return TENON_DTYPE_BIT(TENON_INT8);
    case c10::kShort: return TENON_DTYPE_BIT(TENON_INT16);
    case c10::kInt: return TENON_DTYPE_BIT(TENON_INT32);
    case c10::kLong: return TENON_DTYPE_BIT(TENON_INT64);
    case c10::kBool: return TENON_DTYPE_BIT(TENON_BOOL);
    default: throw std::invalid_argument(std::string("is ") + c10::toString(dtype) + "; expected a real dtype");
  }
}

// The symbol of "Symbol('s77', positive=True, integer=True)"; empty for another expression.
std::string find_symbol(const std::string& expression) {
  const std::string begin = "Symbol('";
  if (!expression.starts_with(begin)) return {};
  const size_t end = expression.find('\'', begin.size());
  const bool is_whole = end != std::string::npos && expression.find(')') + 1 == expression.size();
  return is_whole ? expression.substr(begin.size(), end - begin.size()) : std::string();
}

// The extents of tensors as texts. The first of each input is the batch size, N.
class Shapes {
 public:
  std::string describe(const Json& meta, bool is_input) {
    std::string shape;
    bool is_first = true;
    for (const Json& size : elements(field(meta, "sizes"))) {
      if (!is_first) shape += ',';
      shape += describe_extent(tagged(size), is_input && is_first);
      is_first = false;
    }
    return shape;
  }
  bool has_batch_size() const { return has_batch_size_; }

 private:
  std::string describe_extent(const Tagged& extent, bool is_batch_size) {
    if (extent.tag == "as_int") {
      const int64_t size = integer(extent.value);
      if (size < 0) throw std::invalid_argument("has the size " + std::to_string(size));
      return std::to_string(size);
    }
    if (extent.tag != "as_expr") throw std::invalid_argument("has a size of the kind " + shorten(Json(extent.tag)));
    const std::string symbol = find_symbol(text(field(extent.value, "expr_str")));
    if (is_batch_size && !symbol.empty()) {
      has_batch_size_ = true;
      return names_[symbol] = "N";
    }
    std::string unique = "S" + std::to_string(++count_);
    return symbol.empty() ? unique : names_.emplace(symbol, std::move(unique)).first->second;
  }

  std::map<std::string, std::string> names_;
  size_t count_ = 0;
  bool has_batch_size_ = false;
};

// A leaf repeats the keys of all dictionaries around it, so that long keys could fill the memory.
constexpr size_t kLongestName = 256;

// The names of the leaves of a tree that forward returns, from the text of torch.utils._pytree.
void list_leaves(const Json& tree, const std::string& prefix, std::vector<std::string>& names) {
  if (prefix.size() > kLongestName)
    throw std::invalid_argument("the name of an output has more than " + std::to_string(kLongestName) + " characters");
  const Json& children = elements(field(tree, "children_spec"));
  if (field(tree, "type").is_null()) {
    names.push_back(prefix);
    return;
  }
  const Json& context = field(tree, "context");
  const Json keys = context.is_string() ? Json::parse(context.get_ref<const std::string&>(), nullptr, false) : Json();
  const bool has_keys = keys.is_array() && keys.size() == children.size();
  for (size_t i = 0; i < children.size(); ++i) {
    const std::string name = has_keys && keys[i].is_string() ? keys[i].get<std::string>()
                             : children.size() == 1          ? ""
                                                             : std::to_string(i);
    list_leaves(children[i], prefix + (prefix.empty() || name.empty() ? "" : "_") + name, names);
  }
}

std::vector<std::string> read_output_names(const Json& module) {
  std::vector<std::string> names;
  for (const Json& entry : elements(field(module, "module_call_graph"))) {
    if (!text(field(entry, "fqn")).empty() || !field(entry, "signature").is_object()) continue;
    const Json spec = parse_json(text(field(field(entry, "signature"), "out_spec")));
    if (elements(spec).size() == 2) list_leaves(spec[1], "", names);
  }
  for (std::string& name : names) {
    const bool is_number = !name.empty() && std::isdigit(static_cast<unsigned char>(name.front()));
    name = name.empty() ? "output" : is_number ? "output_" + name : to_port_name(name);
  }
  return names;
}

const Json& find_meta(const Json& graph, const std::string& value) {
  return field(field(graph, "tensor_values"), value);
}

tenon::Port make_port(uint32_t direction, const std::string& name, const Json& meta, Shapes& shapes) {
  try {
    return {direction, name, shapes.describe(meta, direction == TENON_INPUT),
            to_dtypes(to_scalar_type(integer(field(meta, "dtype")))), ""};
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument((direction == TENON_INPUT ? "input " : "output ") + name + ": " + error.what());
  }
}

// The values of user_output specs; empty for one that is not a tensor.
std::vector<std::string> list_outputs(const Json& signature) {
  std::vector<std::string> values;
  for (const Json& each : elements(field(signature, "output_specs"))) {
    const Tagged spec = tagged(each);
    if (spec.tag == "loss_output") values.push_back(text(field(field(spec.value, "arg"), "name")));
    if (spec.tag != "user_output") continue;
    const Tagged argument = tagged(field(spec.value, "arg"));
    values.push_back(argument.tag == "as_tensor" ? text(field(argument.value, "name")) : std::string());
  }
  return values;
}

void check_unique(const std::vector<tenon::Port>& ports) {
  std::set<std::pair<uint32_t, std::string>> names;
  for (const tenon::Port& port : ports)
    if (!names.emplace(port.direction, port.name).second)
      throw std::invalid_argument("two ports are called " + port.name + "; rename them in forward, or set `outputs`");
}

}  // namespace

std::vector<tenon::Port> read_ports(const Json& model, const std::vector<std::string>& output_names) {
  const Json& module = field(model, "graph_module");
  const Json& graph = field(module, "graph");
  const Json& signature = field(module, "signature");
  std::vector<tenon::Port> ports;
  Shapes shapes;
  for (const Json& each : elements(field(signature, "input_specs"))) {
    const Tagged spec = tagged(each);
    if (spec.tag != "user_input") continue;
    const Tagged argument = tagged(field(spec.value, "arg"));
    if (argument.tag != "as_tensor") continue;
    const std::string& name = text(field(argument.value, "name"));
    ports.push_back(make_port(TENON_INPUT, to_port_name(name), find_meta(graph, name), shapes));
  }
  if (ports.empty()) throw std::invalid_argument("the graph has no input tensor");
  if (!shapes.has_batch_size())
    throw std::invalid_argument("no input has a dynamic batch size: input " + ports.front().name + " is [" +
                                ports.front().shape + "]; export with dynamic_shapes, as scripts/export_model.py does");
  const std::vector<std::string> values = list_outputs(signature);
  std::vector<std::string> names = read_output_names(module);
  if (names.size() != values.size()) {
    names.clear();
    for (size_t i = 0; i < values.size(); ++i)
      names.push_back(values.size() == 1 ? "output" : "output_" + std::to_string(i));
  }
  size_t count = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty()) continue;
    const std::string& name = count < output_names.size() ? output_names[count] : names[i];
    ports.push_back(make_port(TENON_OUTPUT, name, find_meta(graph, values[i]), shapes));
    ++count;
  }
  if (count == 0) throw std::invalid_argument("the graph returns no tensor");
  if (!output_names.empty() && output_names.size() != count)
    throw std::invalid_argument("outputs has " + std::to_string(output_names.size()) + " names; the model has " +
                                std::to_string(count) + " outputs");
  check_unique(ports);
  return ports;
}

void check_same_ports(const std::vector<tenon::Port>& training, const std::vector<tenon::Port>& evaluation) {
  const auto list = [](const std::vector<tenon::Port>& ports) {
    std::string text;
    for (const tenon::Port& port : ports)
      text += (text.empty() ? "" : ", ") + (port.direction == TENON_INPUT ? port.name : "an output") + " [" +
              port.shape + "]";
    return text;
  };
  if (list(training) != list(evaluation))
    throw std::invalid_argument("the graphs for training and evaluation differ: " + list(training) + " and " +
                                list(evaluation) + "; expected the same inputs and outputs");
}

}  // namespace exported
