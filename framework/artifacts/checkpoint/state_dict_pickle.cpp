#include "framework/artifacts/checkpoint/state_dict_pickle.h"

#include <tenon/abi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <utility>

#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::artifacts {

using support::Error;
using support::ErrorKind;

namespace {

// Far more than any state_dict has. They bound the memory that a damaged file can request.
constexpr size_t kMostBytes = size_t{64} << 20;
constexpr size_t kMostValues = size_t{4} << 20;
constexpr size_t kMostDimensions = 64;
constexpr int kFirstProtocol = 2, kLastProtocol = 5;

struct StorageType {
  std::string_view name;
  int32_t dtype;
};
constexpr std::array kStorageTypes{
    StorageType{"torch.FloatStorage", TENON_FLOAT32}, StorageType{"torch.DoubleStorage", TENON_FLOAT64},
    StorageType{"torch.HalfStorage", TENON_FLOAT16},  StorageType{"torch.BFloat16Storage", TENON_BFLOAT16},
    StorageType{"torch.LongStorage", TENON_INT64},    StorageType{"torch.IntStorage", TENON_INT32},
    StorageType{"torch.ShortStorage", TENON_INT16},   StorageType{"torch.CharStorage", TENON_INT8},
    StorageType{"torch.ByteStorage", TENON_UINT8},    StorageType{"torch.BoolStorage", TENON_BOOL}};

constexpr std::string_view kOrderedDict = "collections.OrderedDict";
constexpr std::string_view kRebuildTensor = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kRebuildParameter = "torch._utils._rebuild_parameter";
constexpr std::string_view kSize = "torch.Size";

// In the order in which they are preferred. As timm, the average comes first.
constexpr std::array<std::string_view, 5> kStateDictKeys{"state_dict_ema", "state_dict", "model_state_dict", "model",
                                                         "model_ema"};

using Id = uint32_t;  // of a value

struct Value {
  // opaque: an object that is not created, such as an argparse.Namespace.
  enum class Kind { mark, none, number, text, list, dict, global, storage, tensor, opaque } kind;
  int64_t number = 0;          // integers and booleans; floating-point numbers are not needed
  std::string text = {};       // a string, the name of a global, or the record of a storage
  std::vector<Id> items = {};  // elements of a list or tuple; alternating keys and values of a dictionary
  Id type = 0;                 // of an opaque object: the global that would make it
  int32_t dtype = 0;           // of a storage or tensor
  uint64_t elements = 0;       // of a storage
  PickledTensor tensor = {};
};

using Kind = Value::Kind;

// A machine with a stack, as pickle defines it. It only builds values of the kinds above.
class PickleMachine {
 public:
  PickleMachine(std::string_view pickle, const std::string& file) : left_(pickle), size_(pickle.size()), file_(file) {}

  const Value& run() {
    if (left_.size() > kMostBytes) refuse(fmt::format("has {} bytes", left_.size()), "at most 64 MiB");
    while (!is_done_) step();
    return values_[top()];
  }

  const Value& at(Id id) const { return values_[id]; }

  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const {
    throw Error(ErrorKind::checkpoint, "{}: its pickle {}; expected {}", file_, found, expected);
  }

  // `what`: "holds", or also the entry of the dictionary.
  [[noreturn]] void refuse_object(const std::string& what, const Value& opaque) const {
    throw Error(ErrorKind::checkpoint,
                "{}: {} a Python object of {}, which is not created; expected tensors, numbers, strings, lists and "
                "dictionaries: save only the weights, torch.save(model.state_dict(), FILE), or use "
                "safetensors.torch.save_file",
                file_, what, quote_name(values_[opaque.type].text));
  }

 private:
  [[noreturn]] void refuse_damage(const std::string& what) const {
    refuse(fmt::format("{} at byte {}", what, size_ - left_.size()),
           "a state_dict that torch.save wrote: the file may be damaged");
  }

  std::string_view take(uint64_t bytes) {
    if (bytes > left_.size()) refuse_damage("ends early");
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return taken;
  }

  // A little-endian number.
  uint64_t take_number(size_t bytes) {
    uint64_t number = 0;
    const std::string_view taken = take(bytes);
    for (size_t i = 0; i < bytes; ++i) number |= uint64_t{static_cast<unsigned char>(taken[i])} << (8 * i);
    return number;
  }

  std::string take_line() {
    const size_t end = left_.find('\n');
    if (end == left_.npos) refuse_damage("ends within a name");
    std::string line(take(end));
    take(1);
    return line;
  }

  void push(Value value) {
    if (values_.size() >= kMostValues) refuse("has more than 4 million values", "a state_dict");
    values_.push_back(std::move(value));
    stack_.push_back(static_cast<Id>(values_.size() - 1));
  }

  void push_number(int64_t number) { push({Kind::number, number}); }
  void push_text(std::string_view text) { push({.kind = Kind::text, .text = std::string(text)}); }
  // `type`: a global, or an object that has one. Names are not copied: thousands of objects may share a long one.
  void push_opaque(Id type) {
    push({.kind = Kind::opaque, .type = values_[type].kind == Kind::opaque ? values_[type].type : type});
  }
  void push_opaque(const char* name) {
    push_global(name);
    push_opaque(pop());
  }

  Id top() const {
    if (stack_.empty() || values_[stack_.back()].kind == Kind::mark) refuse_damage("takes a value that is not there");
    return stack_.back();
  }

  Id pop() {
    const Id id = top();
    stack_.pop_back();
    return id;
  }

  // The last `count` values, which are removed.
  std::vector<Id> pop(size_t count) {
    std::vector<Id> ids(count);
    for (size_t i = count; i > 0; --i) ids[i - 1] = pop();
    return ids;
  }

  // The values above the last mark, which are removed with it.
  std::vector<Id> pop_to_mark() {
    size_t at = stack_.size();
    while (at > 0 && values_[stack_[at - 1]].kind != Kind::mark) --at;
    if (at == 0) refuse_damage("has no mark");
    std::vector<Id> ids(stack_.begin() + static_cast<std::ptrdiff_t>(at), stack_.end());
    stack_.resize(at - 1);
    return ids;
  }

  void push_list(std::vector<Id> items) { push({.kind = Kind::list, .items = std::move(items)}); }

  void add_items(Kind kind, const std::vector<Id>& items) {
    Value& target = values_[top()];
    if (target.kind == Kind::opaque) return;
    if (target.kind != kind) refuse_damage("adds elements to another value");
    if (kind == Kind::dict && items.size() % 2 != 0) refuse_damage("has a key without a value");
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  void remember(uint64_t place) {
    if (place >= kMostValues) refuse_damage("has a memo of more than 4 million values");
    if (place >= memo_.size()) memo_.resize(place + 1, kNothing);
    memo_[place] = top();
  }

  void recall(uint64_t place) {
    if (place >= memo_.size() || memo_[place] == kNothing) refuse_damage("reads an empty place of its memo");
    stack_.push_back(memo_[place]);
  }

  void push_global(const std::string& name) {
    name_bytes_ += name.size();
    if (name_bytes_ > kMostBytes) refuse_damage("has names of more than 64 MiB");
    push({.kind = Kind::global, .text = name});
  }

  const std::string& text_of(Id id) const {
    if (values_[id].kind != Kind::text) refuse_damage("has another value in place of a string");
    return values_[id].text;
  }

  int64_t number_of(Id id) const {
    if (values_[id].kind != Kind::number) refuse_damage("has another value in place of an integer");
    return values_[id].number;
  }

  uint64_t count_of(Id id) const {
    if (number_of(id) < 0) refuse_damage("has a negative count");
    return static_cast<uint64_t>(number_of(id));
  }

  const std::vector<Id>& items_of(Id id) const {
    if (values_[id].kind != Kind::list) refuse_damage("has another value in place of a tuple");
    return values_[id].items;
  }

  // ("storage", type, record, device, number of elements)
  void push_storage() {
    const std::vector<Id> parts = items_of(pop());
    if (parts.size() != 5 || text_of(parts[0]) != "storage" || values_[parts[1]].kind != Kind::global)
      refuse_damage("has a reference that is no storage");
    const auto type = std::ranges::find(kStorageTypes, values_[parts[1]].text, &StorageType::name);
    if (type == kStorageTypes.end()) return push_opaque(parts[1]);
    push({.kind = Kind::storage, .text = text_of(parts[2]), .dtype = type->dtype, .elements = count_of(parts[4])});
  }

  std::vector<int64_t> extents_of(Id id) const {
    std::vector<int64_t> extents;
    for (const Id item : items_of(id)) extents.push_back(static_cast<int64_t>(count_of(item)));
    if (extents.size() > kMostDimensions) refuse_damage("has a tensor with more than 64 dimensions");
    return extents;
  }

  // (storage, offset, shape, strides, ...)
  void push_tensor(const std::vector<Id>& arguments) {
    if (!arguments.empty() && values_[arguments[0]].kind == Kind::opaque) return push_opaque(arguments[0]);
    if (arguments.size() < 4 || values_[arguments[0]].kind != Kind::storage) refuse_damage("has an incomplete tensor");
    const Value& storage = values_[arguments[0]];
    PickledTensor tensor{{},
                         storage.dtype,
                         storage.text,
                         storage.elements,
                         count_of(arguments[1]),
                         extents_of(arguments[2]),
                         extents_of(arguments[3])};
    if (!is_within(tensor)) refuse_damage("has a tensor outside of its storage");
    push({.kind = Kind::tensor, .tensor = std::move(tensor)});
  }

  static bool is_within(const PickledTensor& tensor) {
    if (tensor.shape.size() != tensor.strides.size()) return false;
    if (std::ranges::find(tensor.shape, 0) != tensor.shape.end()) return count_bytes(tensor.shape, 8).has_value();
    uint64_t last = tensor.offset;
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      uint64_t step = 0;
      if (__builtin_mul_overflow(static_cast<uint64_t>(tensor.shape[i] - 1), static_cast<uint64_t>(tensor.strides[i]),
                                 &step) ||
          __builtin_add_overflow(last, step, &last))
        return false;
    }
    // A stride of 0 repeats elements. Such a tensor may be larger than its storage, but not by much in a state_dict.
    const auto bytes = count_bytes(tensor.shape, 1);
    return last < tensor.storage_elements && bytes && *bytes <= tensor.storage_elements;
  }

  void call(Id callee, const std::vector<Id>& arguments) {
    const std::string& name = values_[callee].text;
    if (name == kRebuildTensor) return push_tensor(arguments);
    if (name == kRebuildParameter || name == kSize) {
      const Kind expected = name == kSize ? Kind::list : Kind::tensor;
      const bool is_opaque = !arguments.empty() && values_[arguments[0]].kind == Kind::opaque;
      if (arguments.empty() || (values_[arguments[0]].kind != expected && !is_opaque))
        refuse_damage("has an incomplete " + name);
      stack_.push_back(arguments[0]);
      return;
    }
    if (name != kOrderedDict) return push_opaque(callee);
    Value dict{Kind::dict};
    if (!arguments.empty())
      for (const Id pair : items_of(arguments[0])) {
        const std::vector<Id>& parts = items_of(pair);
        if (parts.size() != 2) refuse_damage("has a key without a value");
        dict.items.insert(dict.items.end(), parts.begin(), parts.end());
      }
    push(std::move(dict));
  }

  void reduce() {
    const std::vector<Id> arguments = items_of(pop());
    const Id callee = pop();
    if (values_[callee].kind == Kind::opaque) return push_opaque(callee);
    if (values_[callee].kind != Kind::global) refuse_damage("calls a value that is no function");
    call(callee, arguments);
  }

  // An object that Python would make with cls.__new__. `count`: of arguments.
  void make_object(size_t count) {
    pop(count);
    const Id type = pop();
    if (values_[type].kind != Kind::global && values_[type].kind != Kind::opaque)
      refuse_damage("makes an object of no class");
    push_opaque(type);
  }

  // Attributes, such as _metadata of a state_dict, are left out.
  void build() {
    pop();
    if (values_[top()].kind != Kind::dict && values_[top()].kind != Kind::opaque)
      refuse_damage("sets attributes of another value than a dictionary");
  }

  void step() {
    const auto code = static_cast<unsigned char>(take(1)[0]);
    switch (code) {
      case 0x80: {  // PROTO
        const auto protocol = static_cast<int>(take_number(1));
        if (protocol < kFirstProtocol || protocol > kLastProtocol)
          refuse(fmt::format("has protocol {}", protocol), "2 to 5");
        return;
      }
      case 0x95: take(8); return;  // FRAME
      case '.':
        is_done_ = true;
        top();
        return;
      case '(': push({Kind::mark}); return;
      case 'N': push({Kind::none}); return;
      case 0x88: push_number(1); return;
      case 0x89: push_number(0); return;
      case 'J': push_number(static_cast<int32_t>(take_number(4))); return;
      case 'K': push_number(static_cast<int64_t>(take_number(1))); return;
      case 'M': push_number(static_cast<int64_t>(take_number(2))); return;
      case 0x8a: return push_long(take_number(1));
      case 0x8b: return push_long(take_number(4));
      case 'G':
        take(8);
        push({Kind::none});
        return;  // a floating-point number
      case 'X': return push_text(take(take_number(4)));
      case 0x8c: return push_text(take(take_number(1)));
      case 0x8d: return push_text(take(take_number(8)));
      case 'C': return push_bytes(take_number(1));
      case 'B': return push_bytes(take_number(4));
      case 0x8e:
      case 0x96: return push_bytes(take_number(8));
      case '0': pop(); return;
      case '1': pop_to_mark(); return;
      case '}': push({Kind::dict}); return;
      case ']':
      case ')': push({Kind::list}); return;
      case 't': return push_list(pop_to_mark());
      case 0x8f: return push_opaque("builtins.set");
      case 0x90: return add_items(Kind::opaque, pop_to_mark());
      case 0x91: pop_to_mark(); return push_opaque("builtins.frozenset");
      case 0x85:
      case 0x86:
      case 0x87: return push_list(pop(code - 0x84u));
      case 'a': return add_items(Kind::list, pop(1));
      case 's': return add_items(Kind::dict, pop(2));
      case 'e': return add_items(Kind::list, pop_to_mark());
      case 'u': return add_items(Kind::dict, pop_to_mark());
      case 'q': return remember(take_number(1));
      case 'r': return remember(take_number(4));
      case 0x94: return remember(memo_.size());
      case 'h': return recall(take_number(1));
      case 'j': return recall(take_number(4));
      case 'c': {
        const std::string module = take_line();
        return push_global(module + "." + take_line());
      }
      case 0x93: {
        const std::string name = text_of(pop());
        return push_global(text_of(pop()) + "." + name);
      }
      case 'R': return reduce();
      case 0x81: return make_object(1);
      case 0x92: return make_object(2);
      case 'b': return build();
      case 'Q': return push_storage();
      default: refuse_damage(fmt::format("has the operation {}, which no state_dict needs,", code));
    }
  }

  // Bytes are not needed.
  void push_bytes(uint64_t count) {
    take(count);
    push({Kind::none});
  }

  // A little-endian integer of any length. Numbers beyond 64 bits are no sizes.
  void push_long(uint64_t bytes) {
    if (bytes > 8) return push_bytes(bytes);
    uint64_t number = take_number(bytes);
    const bool is_negative = bytes > 0 && bytes < 8 && (number >> (8 * bytes - 1)) != 0;
    if (is_negative) number |= ~uint64_t{0} << (8 * bytes);
    push_number(std::bit_cast<int64_t>(number));
  }

  static constexpr Id kNothing = ~Id{0};

  std::string_view left_;
  size_t size_;
  const std::string& file_;
  std::vector<Value> values_;
  std::vector<Id> stack_;
  std::vector<Id> memo_;
  size_t name_bytes_ = 0;  // of globals
  bool is_done_ = false;
};

size_t count_tensors(const PickleMachine& machine, const Value& dict) {
  size_t count = 0;
  for (size_t i = 0; dict.kind == Kind::dict && i < dict.items.size(); i += 2)
    count += machine.at(dict.items[i]).kind == Kind::text && machine.at(dict.items[i + 1]).kind == Kind::tensor;
  return count;
}

const Value* find_entry(const PickleMachine& machine, const Value& dict, std::string_view key) {
  for (size_t i = 0; i < dict.items.size(); i += 2) {
    const Value& name = machine.at(dict.items[i]);
    if (name.kind == Kind::text && name.text == key) return &machine.at(dict.items[i + 1]);
  }
  return nullptr;
}

std::string list_keys(const PickleMachine& machine, const Value& dict) {
  constexpr size_t kShown = 12;
  std::string list;
  size_t shown = 0;
  for (size_t i = 0; i < dict.items.size(); i += 2) {
    const Value& name = machine.at(dict.items[i]);
    if (name.kind != Kind::text) continue;
    if (++shown > kShown) return list + ", ...";
    list += (list.empty() ? "" : ", ") + quote_name(name.text);
  }
  return list.empty() ? "no keys" : "the keys " + list;
}

// The other entries with at least half as many tensors, in a dictionary or in one within it, as in
// {"ema": {"module": ...}}. Random states and loss scales are fewer tensors.
std::vector<std::string> list_other_dicts(const PickleMachine& machine, const Value& dict, const Value* used) {
  const auto index = [&](Id name) { return "[" + quote_name(machine.at(name).text) + "]"; };
  const size_t least = (count_tensors(machine, *used) + 1) / 2;
  std::vector<std::string> others;
  for (size_t i = 0; i < dict.items.size(); i += 2) {
    const Value& entry = machine.at(dict.items[i + 1]);
    if (&entry == used || machine.at(dict.items[i]).kind != Kind::text || entry.kind != Kind::dict) continue;
    size_t most = count_tensors(machine, entry);
    std::string nested;
    for (size_t k = 0; k < entry.items.size(); k += 2) {
      const size_t count = count_tensors(machine, machine.at(entry.items[k + 1]));
      if (count <= most || machine.at(entry.items[k]).kind != Kind::text) continue;
      most = count;
      nested = index(entry.items[k]);
    }
    if (most >= least) others.push_back(index(dict.items[i]) + nested);
  }
  return others;
}

std::string list_state_dict_keys() {
  std::string list;
  for (size_t i = 0; i < kStateDictKeys.size(); ++i)
    list += (i == 0 ? "" : i + 1 < kStateDictKeys.size() ? ", " : " or ") + quote_name(kStateDictKeys[i]);
  return list;
}

}  // namespace

PickledStateDict parse_state_dict(std::string_view pickle, const std::string& file) {
  PickleMachine machine(pickle, file);
  const Value* dict = &machine.run();
  PickledStateDict parsed;
  if (dict->kind == Kind::opaque) machine.refuse_object("holds", *dict);
  if (dict->kind != Kind::dict) machine.refuse("has no dictionary", "a state_dict");
  if (count_tensors(machine, *dict) == 0) {
    const Value* found = nullptr;
    for (const std::string_view key : kStateDictKeys) {
      const Value* const entry = find_entry(machine, *dict, key);
      if (!entry || count_tensors(machine, *entry) == 0) continue;
      found = entry;
      parsed.key = key;
      break;
    }
    if (!found)
      machine.refuse("has a dictionary without tensors, with " + list_keys(machine, *dict),
                     "a state_dict, or one at " + list_state_dict_keys());
    parsed.others = list_other_dicts(machine, *dict, found);
    dict = found;
  }
  std::set<std::string_view> names;
  for (size_t i = 0; i < dict->items.size(); i += 2) {
    const Value& name = machine.at(dict->items[i]);
    const Value& value = machine.at(dict->items[i + 1]);
    if (value.kind == Kind::opaque)
      machine.refuse_object("holds at " + quote_name(name.kind == Kind::text ? name.text : "a key that is no string"),
                            value);
    if (value.kind != Kind::tensor) continue;
    if (name.kind != Kind::text) machine.refuse("has a tensor with a key that is no string", "names");
    if (const auto fault = find_name_error(name.text))
      machine.refuse(fmt::format("has the tensor {}: {}", quote_name(name.text), *fault), "names of tensors");
    if (!names.insert(name.text).second)
      machine.refuse(fmt::format("has the tensor {} twice", quote_name(name.text)), "each name once");
    parsed.tensors.push_back(value.tensor);
    parsed.tensors.back().name = name.text;
  }
  return parsed;
}

}  // namespace tenon::artifacts
