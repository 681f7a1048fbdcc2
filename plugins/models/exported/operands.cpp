#include "plugins/models/exported/compile.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/List.h>

#include <stdexcept>

#include "plugins/models/exported/schema.h"

namespace exported {
namespace {

using Kind = Operand::Kind;

Operand constant(c10::IValue value) { return {Kind::constant, std::move(value)}; }
Operand of_slot(Slot slot, Kind kind = Kind::slot) { return {kind, {}, slot}; }

// {"name": "x"}
Operand tensor(const Json& value, const Names& names) { return of_slot(find_slot(names, text(field(value, "name")))); }

Operand optional_tensor(const Json& value, const Names& names) {
  const Tagged each = tagged(value);
  if (each.tag == "as_none") return constant({});
  if (each.tag != "as_tensor") throw std::invalid_argument("found " + shorten(value) + "; expected a tensor or none");
  return tensor(each.value, names);
}

// {"as_name": "sym_size_int_1"}, or a constant
Operand symbolic(const Json& value, const Names& names) {
  const Tagged each = tagged(value);
  if (each.tag == "as_name") return of_slot(find_slot(names, text(each.value)));
  if (each.tag == "as_int") return constant(integer(each.value));
  if (each.tag == "as_float") return constant(number(each.value));
  if (each.tag == "as_bool") return constant(boolean(each.value));
  throw std::invalid_argument("found " + shorten(value) + "; expected as_name, as_int, as_float or as_bool");
}

std::optional<Operand> find_number(const Tagged& argument, const Names& names) {
  if (argument.tag == "as_int") return constant(integer(argument.value));
  if (argument.tag == "as_float") return constant(number(argument.value));
  if (argument.tag == "as_bool") return constant(boolean(argument.value));
  if (is_symbolic(argument.tag)) return symbolic(argument.value, names);
  return std::nullopt;
}

std::optional<Operand> find_integer(const Tagged& argument, const Names& names) {
  if (argument.tag == "as_int") return constant(integer(argument.value));
  if (argument.tag == "as_sym_int") return symbolic(argument.value, names);
  if (argument.tag == "as_scalar_type") return constant(static_cast<int64_t>(to_scalar_type(integer(argument.value))));
  if (argument.tag == "as_layout") return constant(static_cast<int64_t>(to_layout(integer(argument.value))));
  if (argument.tag == "as_memory_format")
    return constant(static_cast<int64_t>(to_memory_format(integer(argument.value))));
  return std::nullopt;
}

// The number of an operator may be an integer where it expects a float.
std::optional<Operand> find_float(const Tagged& argument, const Names& names) {
  std::optional<Operand> found = find_number(argument, names);
  if (!found) return found;
  if (found->kind == Kind::slot) return of_slot(found->slot, Kind::slot_as_float);
  if (found->constant.isInt()) return constant(static_cast<double>(found->constant.toInt()));
  if (found->constant.isBool()) return std::nullopt;
  return found;
}

std::optional<Operand> find_boolean(const Tagged& argument, const Names& names) {
  if (argument.tag == "as_bool") return constant(boolean(argument.value));
  if (argument.tag == "as_int" && (argument.value == 0 || argument.value == 1)) return constant(argument.value == 1);
  if (argument.tag == "as_sym_bool") return symbolic(argument.value, names);
  return std::nullopt;
}

std::optional<Operand> find_scalar(const Tagged& argument, const Names& names) {
  if (argument.tag == "as_complex")
    return constant(c10::complex<double>(number(field(argument.value, "real")), number(field(argument.value, "imag"))));
  return find_number(argument, names);
}

std::optional<Operand> find_tensor(const Tagged& argument, const Names& names) {
  if (argument.tag == "as_tensor") return tensor(argument.value, names);
  if (argument.tag == "as_optional_tensor") return optional_tensor(argument.value, names);
  std::optional<Operand> found = find_number(argument, names);
  if (!found) return found;
  if (found->kind == Kind::slot) return of_slot(found->slot, Kind::slot_as_tensor);
  // Such a tensor does not change the dtype of the result.
  return constant(at::native::wrapped_scalar_tensor(found->constant.toScalar()));
}

// The nodes hold no device but the one that the model was exported on.
std::optional<Operand> find_device(const Tagged& argument) {
  if (argument.tag != "as_device") return std::nullopt;
  const std::string& type = text(field(argument.value, "type"));
  if (type != "cpu" && type != "cuda")
    throw std::invalid_argument("the device is " + shorten(Json(type)) + "; expected \"cpu\" or \"cuda\"");
  return Operand{Kind::device};
}

using Find = std::optional<Operand> (*)(const Tagged&, const Names&);

// A list of elements that `find` converts. `tag` is that of an element in the list.
Operand list_of(Kind kind, const Json& list, const std::string& tag, Find find, const Names& names) {
  Operand made = {kind};
  for (const Json& each : elements(list)) {
    std::optional<Operand> item = find({tag, each}, names);
    if (!item) throw std::invalid_argument("found " + shorten(each) + " in a list; expected another type");
    made.items.push_back(std::move(*item));
  }
  return made;
}

// A number for a list such as int[2].
std::optional<Operand> repeat(Kind kind, std::optional<Operand> item, std::optional<int32_t> length) {
  if (!item || !length || *length < 1) return std::nullopt;
  return Operand{kind, {}, 0, std::vector<Operand>(static_cast<size_t>(*length), *item)};
}

std::optional<Operand> find_list(const Tagged& argument, const c10::TypePtr& element, std::optional<int32_t> length,
                                 const Names& names) {
  const std::string& tag = argument.tag;
  const auto list = [&](Kind kind, const char* item_tag, Find find) {
    return list_of(kind, argument.value, item_tag, find, names);
  };
  const bool is_empty = argument.value.is_array() && argument.value.empty();
  switch (element->kind()) {
    case c10::TypeKind::TensorType:
      if (tag == "as_tensors" || is_empty) return list(Kind::tensors, "as_tensor", &find_tensor);
      return std::nullopt;
    case c10::TypeKind::OptionalType:
      if (element->expectRef<c10::OptionalType>().getElementType()->kind() != c10::TypeKind::TensorType)
        return std::nullopt;
      if (tag == "as_optional_tensors") return list(Kind::optional_tensors, "as_optional_tensor", &find_tensor);
      if (tag == "as_tensors" || is_empty) return list(Kind::optional_tensors, "as_tensor", &find_tensor);
      return std::nullopt;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      if (tag == "as_ints" || is_empty) return list(Kind::integers, "as_int", &find_integer);
      if (tag == "as_sym_ints") return list(Kind::integers, "as_sym_int", &find_integer);
      return repeat(Kind::integers, find_integer(argument, names), length);
    case c10::TypeKind::FloatType:
      if (tag == "as_floats" || is_empty) return list(Kind::floats, "as_float", &find_float);
      if (tag == "as_ints") return list(Kind::floats, "as_int", &find_float);
      if (tag == "as_sym_floats") return list(Kind::floats, "as_sym_float", &find_float);
      return repeat(Kind::floats, find_float(argument, names), length);
    case c10::TypeKind::BoolType:
      if (tag == "as_bools" || is_empty) return list(Kind::booleans, "as_bool", &find_boolean);
      return repeat(Kind::booleans, find_boolean(argument, names), length);
    default: return std::nullopt;
  }
}

std::optional<Operand> find_operand(const Tagged& argument, const c10::TypePtr& type, std::optional<int32_t> length,
                                    const Names& names) {
  switch (type->kind()) {
    case c10::TypeKind::OptionalType:
      if (argument.tag == "as_none") return constant({});
      return find_operand(argument, type->expectRef<c10::OptionalType>().getElementType(), length, names);
    case c10::TypeKind::TensorType: return find_tensor(argument, names);
    case c10::TypeKind::ListType:
      return find_list(argument, type->expectRef<c10::ListType>().getElementType(), length, names);
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType: return find_integer(argument, names);
    case c10::TypeKind::FloatType:
    case c10::TypeKind::SymFloatType: return find_float(argument, names);
    case c10::TypeKind::BoolType:
    case c10::TypeKind::SymBoolType: return find_boolean(argument, names);
    case c10::TypeKind::NumberType: return find_scalar(argument, names);
    case c10::TypeKind::DeviceObjType: return find_device(argument);
    case c10::TypeKind::StringType:
      if (argument.tag == "as_string") return constant(text(argument.value));
      return std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

Slot find_slot(const Names& names, const std::string& name) {
  const auto found = names.find(name);
  if (found == names.end())
    throw std::invalid_argument("reads " + shorten(Json(name)) + ", which no earlier node computes");
  return found->second;
}

Operand make_operand(const Json& argument, const c10::TypePtr& type, std::optional<int32_t> length,
                     const Names& names) {
  std::optional<Operand> found = find_operand(tagged(argument), type, length, names);
  if (!found) throw std::invalid_argument("found " + shorten(argument) + "; expected " + type->str());
  return std::move(*found);
}

Operand make_number(const Json& argument, const Names& names) {
  std::optional<Operand> found = find_number(tagged(argument), names);
  if (!found) throw std::invalid_argument("found " + shorten(argument) + "; expected a number");
  return std::move(*found);
}

}  // namespace exported
