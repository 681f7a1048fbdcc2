#include "framework/components/calls/ports.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <stdexcept>

#include "framework/components/calls/guard.h"
#include "framework/support/text/format.h"

namespace tenon::components {

namespace {

struct DtypeInfo {
  const char* name;
  size_t bytes;
};

// Indexed by TENON_UINT8 ...
constexpr DtypeInfo kDtypes[] = {{"none", 0},  {"uint8", 1},     {"int8", 1},       {"int16", 2},   {"int32", 4},
                                 {"int64", 8}, {"float16", 2},   {"bfloat16", 2},   {"float32", 4}, {"float64", 8},
                                 {"bool", 1},  {"complex64", 8}, {"complex128", 16}};
constexpr int32_t kDtypeCount = std::size(kDtypes);

constexpr uint32_t kMaxNdim = 64;  // of a tensor, as in LibTorch's operators

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string upper_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](char letter) { return std::toupper(letter); });
  return text;
}

ShapePattern::Extent parse_extent(std::string_view text) {
  ShapePattern::Extent extent;
  int64_t size = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (failure == std::errc() && end == text.data() + text.size()) {
    if (size < 0) throw std::invalid_argument("the extent " + std::string(text) + " is negative");
    extent.size = size;
    return extent;
  }
  const bool is_name =
      !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) &&
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  if (!is_name) throw std::invalid_argument("\"" + std::string(text) + "\" is neither a number nor a name");
  extent.name = text;
  return extent;
}

// Compares the extents after the port's named ones with its rest `...S`.
std::optional<std::string> find_rest_mismatch(const ShapePattern& source, const Port& port, Extents& extents) {
  const std::string name = "..." + port.shape.rest;
  const size_t first = port.shape.extents.size();
  const auto length = static_cast<int64_t>(source.extents.size() - first);
  const int64_t expected_length = extents.emplace(name, length).first->second;
  bool fits = length == expected_length;
  std::string expected;
  for (int64_t i = 0; i < expected_length; ++i) {
    const std::string key = name + " " + std::to_string(i);
    if (fits && source.extents[first + static_cast<size_t>(i)].size) {
      const int64_t found = *source.extents[first + static_cast<size_t>(i)].size;
      fits = extents.emplace(key, found).first->second == found;
    }
    const auto known = extents.find(key);
    expected += (expected.empty() ? "" : ", ") + (known == extents.end() ? "?" : std::to_string(known->second));
  }
  if (fits) return std::nullopt;
  return fmt::format("the shape is {}, expected {} = [{}] as in {}", to_string(source), name, expected,
                     to_string(port.shape));
}

// The first dimension of this name before a rest `...S`.
std::optional<IndexRange::Dimension> find_dimension(const std::vector<Port>& inputs, const std::string& name) {
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t k = 0; k < inputs[i].shape.extents.size(); ++k)
      if (inputs[i].shape.extents[k].name == name) return IndexRange::Dimension{name, i, k};
  return std::nullopt;
}

}  // namespace

const char* dtype_name(int32_t dtype) { return kDtypes[dtype > 0 && dtype < kDtypeCount ? dtype : 0].name; }
size_t dtype_bytes(int32_t dtype) { return kDtypes[dtype > 0 && dtype < kDtypeCount ? dtype : 0].bytes; }

std::optional<std::string> find_shape_fault(uint32_t ndim, const int64_t* shape) {
  if (ndim > kMaxNdim) return fmt::format("has ndim {}; expected 0 to {}", ndim, kMaxNdim);
  if (ndim == 0 || shape) return std::nullopt;
  return fmt::format("has ndim {}, but its shape is NULL; expected a list of as many extents, or ndim 0 for a scalar",
                     ndim);
}

std::optional<std::string> find_dtypes_fault(uint64_t dtypes) {
  constexpr uint64_t kKnown = (TENON_DTYPE_BIT(TENON_COMPLEX128) << 1) - 1 - TENON_DTYPE_BIT(TENON_DTYPE_NONE);
  if ((dtypes & ~kKnown) == 0) return std::nullopt;
  const bool is_number = dtypes < static_cast<uint64_t>(kDtypeCount);
  return fmt::format("has the set of dtypes {:#x}, with bits that are no dtype{}; expected bits 1 to {}, such as {}",
                     dtypes, is_number ? fmt::format("; {} is the number of {}", dtypes, kDtypes[dtypes].name) : "",
                     static_cast<int>(TENON_COMPLEX128),
                     is_number ? fmt::format("TENON_DTYPE_BIT(TENON_{})", upper_case(kDtypes[dtypes].name))
                               : "TENON_DTYPE_BIT(TENON_FLOAT32)");
}

std::string describe_dtypes(uint64_t dtypes) {
  if (dtypes == TENON_ANY_DTYPE) return "any dtype";
  std::string text;
  for (int32_t dtype = 1; dtype < kDtypeCount; ++dtype)
    if (dtypes & TENON_DTYPE_BIT(dtype)) text += (text.empty() ? "" : "/") + std::string(dtype_name(dtype));
  return text;
}

ShapePattern parse_shape(std::string_view text) {
  ShapePattern shape;
  text = trim(text);
  if (text == "*") {
    shape.any = true;
    return shape;
  }
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view part = trim(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : trim(text.substr(comma + 1));
    if (comma != std::string_view::npos && text.empty()) throw std::invalid_argument("it ends with a comma");
    if (part.starts_with("...")) {
      if (!text.empty()) throw std::invalid_argument("`...` must come last");
      shape.open_ended = true;
      if (part.size() > 3) shape.rest = parse_extent(part.substr(3)).name;
      if (part.size() > 3 && shape.rest.empty()) throw std::invalid_argument("expected a name or nothing after `...`");
    } else {
      shape.extents.push_back(parse_extent(part));
    }
  }
  return shape;
}

ShapePattern exact_shape(const std::vector<int64_t>& shape) {
  ShapePattern pattern;
  for (const int64_t size : shape) pattern.extents.push_back({size, ""});
  return pattern;
}

std::string to_string(const ShapePattern& shape) {
  if (shape.any) return "[any shape]";
  std::string text;
  for (const ShapePattern::Extent& extent : shape.extents)
    text += (text.empty() ? "" : ", ") + (extent.size ? std::to_string(*extent.size) : extent.name);
  if (shape.open_ended) text += (text.empty() ? "..." : ", ...") + shape.rest;
  return "[" + text + "]";
}

std::string Port::describe() const { return name + ": " + describe_dtypes(dtypes) + " " + to_string(shape); }

std::optional<std::string> find_mismatch(const ShapePattern& source, uint64_t source_dtypes, const Port& port,
                                         Extents& extents) {
  if (port.dtypes != TENON_ANY_DTYPE && source_dtypes != TENON_ANY_DTYPE && (port.dtypes & source_dtypes) == 0)
    return "the dtype is " + describe_dtypes(source_dtypes) + ", expected " + describe_dtypes(port.dtypes);
  if (port.shape.any || source.any) return std::nullopt;
  const size_t source_ndim = source.extents.size();
  const size_t port_ndim = port.shape.extents.size();
  const bool ndim_fits = (source_ndim == port_ndim) || (source_ndim > port_ndim && port.shape.open_ended) ||
                         (source_ndim < port_ndim && source.open_ended);
  if (!ndim_fits) return "the shape is " + to_string(source) + ", expected " + to_string(port.shape);
  for (size_t i = 0; i < std::min(source_ndim, port_ndim); ++i) {
    const ShapePattern::Extent& expected = port.shape.extents[i];
    const std::optional<int64_t> found = source.extents[i].size;
    if (!found) continue;
    const int64_t expected_extent =
        expected.size ? *expected.size : extents.emplace(expected.name, *found).first->second;
    if (expected_extent != *found)
      return fmt::format("dimension {} of {} is {}, expected {}{} as in {}", i, to_string(source), *found,
                         expected.size ? "" : expected.name + " = ", expected_extent, to_string(port.shape));
  }
  if (!port.shape.rest.empty() && !source.open_ended) return find_rest_mismatch(source, port, extents);
  return std::nullopt;
}

PortList read_ports(const Component& component, const tenon_port* const* ports, uint64_t count) {
  const auto refuse = [&](const std::string& what) { throw_plugin_error(component, "ports", what); };
  PortList list;
  std::set<std::pair<bool, std::string>> names;
  require_list(component, "ports", ports, count, "ports", "a list, or 0 ports");
  for (uint64_t i = 0; i < count; ++i) {
    if (!ports[i] || ports[i]->size < TENON_SIZE_TO(tenon_port, doc))
      refuse(fmt::format("port {} is null or cut short", i));
    Port port;
    port.name = to_string(ports[i]->name);
    port.dtypes = ports[i]->dtypes;
    port.doc = to_string(ports[i]->doc);
    if (port.name.empty()) refuse(fmt::format("port {} has no name", i));
    if (const auto fault = find_dtypes_fault(port.dtypes)) refuse("the port " + port.name + " " + *fault);
    try {
      port.shape = parse_shape(to_string(ports[i]->shape));
    } catch (const std::invalid_argument& error) {
      refuse(fmt::format("the shape \"{}\" of port {} cannot be read: {}", to_string(ports[i]->shape), port.name,
                         error.what()));
    }
    const bool is_output = ports[i]->direction == TENON_OUTPUT;
    if (!names.emplace(is_output, port.name).second) refuse("two ports are called " + port.name);
    (is_output ? list.outputs : list.inputs).push_back(std::move(port));
  }
  return list;
}

void read_index_inputs(const Component& component, const tenon_index_input* const* list, uint64_t count,
                       std::vector<Port>& inputs) {
  constexpr const char* kFunction = "index_inputs.inputs";
  const auto refuse = [&](const std::string& what) { throw_plugin_error(component, kFunction, what); };
  require_list(component, kFunction, list, count, "inputs", "a list, or 0 inputs");
  for (uint64_t i = 0; i < count; ++i) {
    if (!list[i] || list[i]->size < TENON_SIZE_TO(tenon_index_input, ignore_index))
      refuse(fmt::format("element {} is null or cut short", i));
    const std::string name = to_string(list[i]->input), dimension = to_string(list[i]->dimension);
    const auto port = std::ranges::find(inputs, name, &Port::name);
    if (port == inputs.end()) refuse("there is no input \"" + name + "\"");
    if (port->dtypes == TENON_ANY_DTYPE || (port->dtypes & ~uint64_t{TENON_ANY_INTEGER}) != 0)
      refuse("the input " + port->describe() + " holds no integers; expected a port with integer dtypes only");
    IndexRange range{find_dimension(inputs, dimension), list[i]->limit, std::nullopt};
    if (!dimension.empty() && !range.dimension)
      refuse("no input has the dimension \"" + dimension + "\"; expected a named dimension of the inputs' shapes");
    if (dimension.empty() && range.limit < 1)
      refuse(fmt::format("the limit of {} is {}; expected 1 or more", name, range.limit));
    if (list[i]->flags & TENON_HAS_IGNORE_INDEX) range.ignore_index = list[i]->ignore_index;
    port->indices = std::move(range);
  }
}

void read_usual_sources(const Component& component, const tenon_usual_source* list, uint64_t count,
                        std::vector<Port>& inputs) {
  constexpr uint64_t kMost = 1000;
  const auto refuse = [&](const std::string& what) { throw_plugin_error(component, "usual_sources.sources", what); };
  if (count > kMost || (count > 0 && !list))
    refuse(fmt::format("returns a count of {}{}; expected a list of at most {} pairs", count,
                       list ? "" : ", but the list is NULL", kMost));
  for (uint64_t i = 0; i < count; ++i) {
    const auto port = std::ranges::find(inputs, to_string(list[i].input), &Port::name);
    if (port == inputs.end()) refuse("there is no input \"" + to_string(list[i].input) + "\"");
    port->usual_sources.push_back(to_string(list[i].source));
  }
}

}  // namespace tenon::components
