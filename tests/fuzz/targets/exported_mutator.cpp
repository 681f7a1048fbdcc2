// Mutates inputs of libFuzzer with a name and JSON in each line, so that they stay such text. Others are mutated as
// bytes. https://github.com/google/fuzzing/blob/master/docs/structure-aware-fuzzing.md
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using Json = nlohmann::json;
using Random = std::minstd_rand;

// Keys and values of the graphs of torch.export that the seeds may lack.
const std::vector<std::string> kWords = [] {
  std::istringstream words(R"(
    as_none as_tensor as_tensors as_int as_ints as_float as_floats as_string as_bool as_bools as_sym_int as_sym_ints
    as_sym_float as_sym_floats as_sym_bool as_scalar_type as_memory_format as_layout as_device as_optional_tensor
    as_optional_tensors as_complex as_graph as_name as_expr name graph nodes inputs outputs metadata nn_module_stack
    stack_trace user_input user_output parameter buffer tensor_constant constant_input loss_output buffer_mutation train
    training Infinity NaN cpu cuda _operator.floordiv _operator.add torch.sym_max torch.ops.aten.add.Tensor
    torch.ops.aten.add_.Tensor torch.ops.aten.cat.default torch.ops.aten.split.Tensor torch.ops.aten.view.default
    torch.ops.aten.copy_.default torch.ops.aten.batch_norm.default torch.ops.aten.dropout.default
    torch.ops.aten.bernoulli.p torch.ops.aten.full.default torch.ops.aten.upsample_nearest2d.vec
    torch.ops.aten.index.Tensor torch.ops.aten.sym_size.int torch.ops.aten.to.dtype torch.ops.aten.from_file.default
    torch.ops.higher_order.wrap_with_set_grad_enabled torch.ops.higher_order.wrap_with_autocast)");
  return std::vector<std::string>(std::istream_iterator<std::string>(words), {});
}();

size_t draw(Random& random, size_t count) { return random() % count; }

template <class Items>
auto& choose(Random& random, Items& items) {
  return items[draw(random, items.size())];
}

void list_values(Json& value, std::vector<Json*>& values) {
  values.push_back(&value);
  if (value.is_structured())
    for (Json& each : value) list_values(each, values);
}

std::string mutate_text(std::string text) {
  const size_t size = text.size();
  text.resize(size + 16);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(text.data()), size, text.size()));
  return text;
}

Json make_value(Random& random) {
  switch (draw(random, 10)) {
    case 0: return nullptr;
    case 1: return draw(random, 2) == 0;
    case 2: return static_cast<int64_t>(draw(random, 9)) - 1;
    case 3: return std::numeric_limits<int64_t>::max();
    case 4: return std::numeric_limits<int64_t>::min();
    case 5: return std::numeric_limits<uint64_t>::max();
    case 6: return 1e308;
    case 7: return Json::array();
    case 8: return Json::object();
    default: return choose(random, kWords);
  }
}

void rename_key(Json& object, Random& random) {
  const auto entry = std::next(object.begin(), static_cast<ptrdiff_t>(draw(random, object.size())));
  const std::string name = draw(random, 4) == 0 ? mutate_text(entry.key()) : choose(random, kWords);
  Json value = std::move(entry.value());
  object.erase(entry);
  object[name] = std::move(value);
}

void add_child(Json& parent, Json child, Random& random) {
  if (parent.is_array()) {
    parent.insert(std::next(parent.begin(), static_cast<ptrdiff_t>(draw(random, parent.size() + 1))), std::move(child));
  } else {
    parent[choose(random, kWords)] = std::move(child);
  }
}

void change_scalar(Json& value, Random& random) {
  if (value.is_string()) {
    value = draw(random, 2) == 0 ? Json(choose(random, kWords)) : Json(mutate_text(value.get<std::string>()));
  } else if (value.is_number_integer() && draw(random, 2) == 0) {
    value = static_cast<int64_t>(value.get<uint64_t>() + draw(random, 7) - 3);
  } else {
    value = make_value(random);
  }
}

// Changes a value of the document. `other` is the document that values are copied from, which may be the same.
void mutate(Json& document, Json& other, Random& random) {
  std::vector<Json*> values, others;
  list_values(document, values);
  list_values(other, others);
  Json& target = *choose(random, values);
  const bool has_children = target.is_structured() && !target.empty();
  const auto child = [&] { return std::next(target.begin(), static_cast<ptrdiff_t>(draw(random, target.size()))); };
  switch (draw(random, 8)) {
    case 0: target = make_value(random); break;
    case 1: target = Json(*choose(random, others)); break;
    case 2:
      if (has_children) target.erase(child());
      break;
    case 3:
      if (has_children) std::swap(*child(), *child());
      break;
    case 4:
      if (target.is_object() && has_children) rename_key(target, random);
      break;
    case 5:
      if (target.is_structured()) add_child(target, Json(*choose(random, others)), random);
      break;
    default:
      if (!target.is_structured()) change_scalar(target, random);
  }
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
  }
  return lines;
}

// A line of an input, with a larger probability for a longer one. Returns an empty line for an empty input.
std::string_view choose_line(std::string_view text, Random& random) {
  if (text.empty()) return {};
  const size_t place = draw(random, text.size());
  const size_t begin = place == 0 ? std::string_view::npos : text.rfind('\n', place - 1);
  const std::string_view rest = begin == std::string_view::npos ? text : text.substr(begin + 1);
  return rest.substr(0, rest.find('\n'));
}

Json parse_line(std::string_view line) { return Json::parse(line.substr(line.find(' ') + 1), nullptr, false); }

// Returns the input with a changed line; empty if the line has no JSON.
std::string mutate_line(std::string_view input, std::string_view other_input, Random& random) {
  const std::string_view line = choose_line(input, random);
  Json document = parse_line(line);
  if (line.find(' ') == std::string_view::npos || document.is_discarded()) return {};
  Json other = other_input.data() == input.data() ? Json() : parse_line(choose_line(other_input, random));
  if (other.is_discarded()) return {};
  for (size_t count = 1 + draw(random, 4); count > 0; --count)
    mutate(document, other.is_null() ? document : other, random);
  const std::string name(line.substr(0, line.find(' ') + 1));
  std::string changed(input.substr(0, static_cast<size_t>(line.data() - input.data())));
  changed += name + document.dump(-1, ' ', false, Json::error_handler_t::replace);
  return changed.append(line.data() + line.size(), input.data() + input.size());
}

// Returns the input without a line, or with another one of `other_input`.
std::string mutate_lines(std::string_view input, std::string_view other_input, Random& random) {
  std::vector<std::string_view> lines = split_lines(input);
  if (lines.empty() || other_input.empty()) return {};
  choose(random, lines) = draw(random, 2) == 0 ? std::string_view() : choose_line(other_input, random);
  std::string changed;
  for (const std::string_view line : lines)
    if (!line.empty()) changed.append(line) += '\n';
  return changed;
}

// Writes the mutated input, and returns its size; 0 if it must be mutated as bytes.
size_t write_mutated(std::string_view input, std::string_view other, uint8_t* out, size_t max_size, unsigned int seed) {
  Random random(seed);
  if (input.starts_with("PK") || other.starts_with("PK") || draw(random, 50) == 0) return 0;
  const std::string changed =
      draw(random, 20) == 0 ? mutate_lines(input, other, random) : mutate_line(input, other, random);
  if (changed.size() > max_size) return 0;
  std::ranges::copy(changed, out);
  return changed.size();
}

std::string_view as_text(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  const std::string input(as_text(data, size));
  const size_t written = write_mutated(input, input, data, max_size, seed);
  return written > 0 ? written : LLVMFuzzerMutate(data, size, max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data, size_t size, const uint8_t* other_data,
                                            size_t other_size, uint8_t* out, size_t max_out_size, unsigned int seed) {
  return write_mutated(as_text(data, size), as_text(other_data, other_size), out, max_out_size, seed);
}
