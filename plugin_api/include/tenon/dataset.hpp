// Datasets in C++. A class becomes a dataset by defining:
//
//   static std::vector<tenon::Param> schema();      // optional: the parameters
//   explicit T(const tenon::Params& params);        // or T()
//   std::vector<tenon::Field> fields() const;       // called once, after construction
//   int64_t size() const;                           // number of samples
//   void get(const tenon::Sample& sample, const tenon::Sink& sink) const;   // writes one sample; called concurrently
//   uint64_t fingerprint() const;                   // optional: equal data give equal numbers
//   std::vector<int64_t> lengths() const;           // optional: one per sample, for batches of similar lengths
//   std::vector<double> weights() const;            // optional: one per sample, for weighted sampling
//   std::string sample_name(int64_t index) const;       // optional: such as the path of an image, see sample_names.h
//   static void prepare(const tenon::Params& params);   // optional: downloads or unpacks files, see prepare.h
//   std::vector<tenon::ClassNames> class_names() const; // optional: the names of classes, see class_names.hpp
//   std::vector<tenon::Preprocessing> preprocessing() const;  // optional: how fields are made, see preprocessing.hpp
//   tenon::TokenizerInfo tokenizer() const;         // optional, with encode and decode: tokens as text, see
//   tokenizer.hpp
//
// A dataset that keeps data per worker thread (a decoder, a file handle, a buffer) defines this instead of get:
//
//   struct Worker { ... };
//   Worker open_worker(uint64_t id, uint64_t seed) const;
//   void get(Worker& worker, const tenon::Sample& sample, const tenon::Sink& sink) const;
//
// Register the class with tenon::dataset<T>("id", "one line") in TENON_PLUGIN. sample_order.h defines lengths and
// weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "class_names.hpp"
#include "component.hpp"
#include "dataset.h"
#include "detail/convert_number.hpp"
#include "detail/detect.hpp"
#include "detail/instance.hpp"
#include "detail/table.hpp"
#include "dtype.hpp"
#include "parameter_roles.hpp"
#include "prepare.h"
#include "preprocessing.hpp"
#include "sample_names.h"
#include "sample_order.h"
#include "tokenizer.hpp"

namespace tenon {

// A named field of a sample: {"image", TENON_FLOAT32, {1, 8, 8}, "brightness in [0, 1]"}. An extent of -1 differs
// between samples, and each sample is padded to the largest of its batch: {"tokens", TENON_INT64, {-1}, "word ids", 0}.
struct Field {
  std::string name;
  int32_t dtype;               // TENON_FLOAT32 ...
  std::vector<int64_t> shape;  // shape of one sample, without the batch dimension; {} for a scalar
  std::string doc = {};
  double padding = 0;  // must be representable in the dtype; used only with an extent of -1

  bool is_varying() const { return std::find(shape.begin(), shape.end(), int64_t{-1}) != shape.end(); }

  tenon_field describe() const {
    tenon_field field = {};
    field.size = sizeof field;
    field.name = detail::borrow(name);
    field.dtype = dtype;
    field.ndim = static_cast<uint32_t>(shape.size());
    field.shape = shape.data();
    field.doc = detail::borrow(doc);
    field.padding = padding;
    return field;
  }
};

// Identifies the requested sample.
struct Sample {
  int64_t index;  // 0 <= index < size()
  int64_t epoch;  // counted from 1; 0 without epochs, as in validation
  uint64_t seed;  // depends only on the run seed, the dataset, the epoch and the index; pass it to tenon::Random
};

// Gives access to the memory of one sample within the batch. Request and fill every field once per sample. A repeated
// request with the same shape returns the same memory with its contents. Fields are given by name, or by their index in
// fields().
class Sink {
 public:
  Sink(const tenon_sink* sink, const detail::Table<Field>* fields) : sink_(sink), fields_(fields) {}

  // Returns the elements of the field, C-contiguous in the shape of the field and not initialised. Throws Error if the
  // field has another element type or an extent of -1.
  template <class T>
  T* slot(std::string_view field) const {
    return slot<T>(fields_->index(field));
  }
  template <class T>
  T* slot(size_t field) const {
    check_dtype<T>(find(field));
    return static_cast<T*>(raw_slot(field));
  }

  // The same for a field with extents of -1. `shape` is the shape of this sample, with an extent of 0 or more in place
  // of each -1.
  //   int64_t* tokens = sink.slot<int64_t>("tokens", {length});
  template <class T>
  T* slot(std::string_view field, const std::vector<int64_t>& shape) const {
    return slot<T>(fields_->index(field), shape);
  }
  template <class T>
  T* slot(size_t field, const std::vector<int64_t>& shape) const {
    check_dtype<T>(find(field));
    return static_cast<T*>(raw_slot(field, shape));
  }

  // Returns the memory of the field for any element type: for float16, and for libraries with custom types.
  void* raw_slot(std::string_view field) const { return raw_slot(fields_->index(field)); }
  void* raw_slot(size_t field) const {
    const Field& known = find(field);
    if (known.is_varying()) {
      throw Error(TENON_INVALID_ARGUMENT, "field \"" + known.name +
                                              "\" differs in size between samples; pass the shape of this "
                                              "sample, as in slot<T>(\"" +
                                              known.name + "\", {extents})");
    }
    return raw_slot(field, known.shape);
  }
  void* raw_slot(std::string_view field, const std::vector<int64_t>& shape) const {
    return raw_slot(fields_->index(field), shape);
  }
  void* raw_slot(size_t field, const std::vector<int64_t>& shape) const {
    find(field);
    void* memory = nullptr;
    detail::check(sink_->slot(sink_, field, shape.data(), static_cast<uint32_t>(shape.size()), &memory));
    return memory;
  }

  // Fills a field that is a single number: sink.put("label", 3). The number may have any arithmetic type. Throws Error
  // if the dtype of the field cannot represent it; only a conversion between floating-point types rounds.
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  void put(std::string_view field, T value) const {
    const size_t index = fields_->index(field);
    const Field& known = find(index);
    if (!known.shape.empty()) {
      throw Error(TENON_INVALID_ARGUMENT,
                  "field \"" + known.name + "\" is not a single number; write it through slot()");
    }
    if (!detail::write_number(value, known.dtype, raw_slot(index))) {
      throw Error(TENON_INVALID_ARGUMENT, "field \"" + known.name + "\" holds " + dtype_name(known.dtype) +
                                              ", which cannot represent the value " + detail::number_text(value) +
                                              "; convert it first, or write it through raw_slot()");
    }
  }

  // Fills a field that is a list of numbers. Its shape is [-1], or [n] for n values: sink.put("tokens", tokens). The
  // values have the element type of the field.
  template <class T>
  void put(std::string_view field, const std::vector<T>& values) const {
    const size_t index = fields_->index(field);
    const Field& known = find(index);
    if (known.shape.size() != 1) {
      throw Error(TENON_INVALID_ARGUMENT, "field \"" + known.name + "\" is not a list; write it through slot()");
    }
    std::copy(values.begin(), values.end(), slot<T>(index, {static_cast<int64_t>(values.size())}));
  }

  // For extensions of the host that write a field.
  const tenon_sink* handle() const { return sink_; }
  size_t index(std::string_view field) const { return fields_->index(field); }

  const Field& field(std::string_view name) const { return find(index(name)); }

 private:
  const Field& find(size_t index) const {
    const std::vector<Field>& fields = fields_->items();
    if (index < fields.size()) return fields[index];
    throw Error(TENON_INVALID_ARGUMENT, "there is no field " + std::to_string(index) + "; the number of fields is " +
                                            std::to_string(fields.size()));
  }

  template <class T>
  static void check_dtype(const Field& field) {
    if (field.dtype == dtype_of<T>()) return;
    throw Error(TENON_INVALID_ARGUMENT, "field \"" + field.name + "\" has dtype " + dtype_name(field.dtype) +
                                            "; it is accessed as " + dtype_name(dtype_of<T>()));
  }

  const tenon_sink* sink_;
  const detail::Table<Field>* fields_;
};

namespace detail {

TENON_DETECT(worker, std::declval<typename T::Worker>());
TENON_DETECT(fingerprint, std::declval<const T&>().fingerprint());
TENON_DETECT(lengths, std::declval<const T&>().lengths());
TENON_DETECT(weights, std::declval<const T&>().weights());
TENON_DETECT(prepare, T::prepare(std::declval<const Params&>()));
TENON_DETECT(get, std::declval<const T&>().get(std::declval<const Sample&>(), std::declval<const Sink&>()));
TENON_DETECT(get_of_worker, std::declval<const T&>().get(std::declval<typename T::Worker&>(),
                                                         std::declval<const Sample&>(), std::declval<const Sink&>()));
TENON_DETECT(sample_name, std::declval<const T&>().sample_name(int64_t{}));

// Copies one number per sample to the host. The host's memory has room for `samples` numbers.
template <class Number>
void put_each(const std::vector<Number>& given, int64_t samples, const char* what, Number* out) {
  require_count(std::string(what) + "() returned ", given.size(), " numbers; size() returned ",
                static_cast<uint64_t>(samples));
  std::copy(given.begin(), given.end(), out);
}

template <class T>
struct TENON_HIDDEN DatasetInstance : PortableInstance {
  using Self = DatasetInstance;

  explicit DatasetInstance(const tenon_params* params)
      : component(construct<T>(params)),
        fields(component.fields()),
        classes(class_lists_of(component)),
        preprocessing(preprocessing_of(component)),
        tokenizer(tokenizer_of(component)) {}

  static std::vector<ClassList> class_lists_of([[maybe_unused]] const T& dataset) {
    std::vector<ClassList> lists;
    if constexpr (has_class_names<T>) {
      std::vector<ClassNames> classes = dataset.class_names();
      for (ClassNames& one : classes) lists.emplace_back(std::move(one));
    }
    return lists;
  }

  static std::vector<Preprocessing> preprocessing_of([[maybe_unused]] const T& dataset) {
    if constexpr (has_preprocessing<T>) return dataset.preprocessing();
    return {};
  }

  static TokenizerInfo tokenizer_of([[maybe_unused]] const T& dataset) {
    if constexpr (has_tokenizer<T>) return dataset.tokenizer();
    return {};
  }

  void length(int64_t* length) { *length = static_cast<int64_t>(component.size()); }

  void open_worker(uint64_t worker_id, uint64_t seed, void** worker) {
    using Worker = typename T::Worker;
    *worker = new Worker(component.open_worker(worker_id, seed));
  }

  static void close_worker(void*, void* worker) { delete static_cast<typename T::Worker*>(worker); }

  // Const because all workers share the dataset.
  void get([[maybe_unused]] void* worker, const tenon_sample* sample, const tenon_sink* sink) const {
    const Sample requested = {sample->index, sample->epoch, sample->seed};
    const Sink out(sink, &fields);
    static_assert(has_get<T> || has_get_of_worker<T>,
                  "a dataset needs void get(const tenon::Sample&, const tenon::Sink&) const, with Worker& first if it "
                  "defines Worker; it is const because several workers call it at once");
    if constexpr (has_worker<T>) {
      component.get(*static_cast<typename T::Worker*>(worker), requested, out);
    } else {
      component.get(requested, out);
    }
  }

  void fingerprint(uint64_t* fingerprint) { *fingerprint = component.fingerprint(); }

  void lengths(int64_t* lengths) const {
    put_each<int64_t>(component.lengths(), static_cast<int64_t>(component.size()), "lengths", lengths);
  }

  void weights(double* weights) const {
    put_each<double>(component.weights(), static_cast<int64_t>(component.size()), "weights", weights);
  }

  void encode(tenon_string text, const tenon_token_sink* sink) {
    const std::vector<int64_t> tokens = component.encode(std::string_view(text.data, text.size));
    check(sink->put(sink, tokens.data(), tokens.size()));
  }

  void decode(const int64_t* tokens, uint64_t count, const tenon_text_sink* sink) {
    const std::string text = component.decode(std::vector<int64_t>(tokens, tokens + count));
    check(sink->put(sink, borrow(text)));
  }

  void sample_name(int64_t index, const tenon_text_sink* sink) {
    const std::string name = component.sample_name(index);
    check(sink->put(sink, borrow(name)));
  }

  static tenon_status prepare(const tenon_host*, const tenon_params* params) {
    return guard([&] { T::prepare(Params(params)); });
  }

  static const void* get_extension(tenon_string id) {
    [[maybe_unused]] const std::string name = copy(id);
    if constexpr (has_class_names<T>) {
      static constexpr tenon_class_lists kClasses = {sizeof(tenon_class_lists), &hand_out_member<Self, &Self::classes>};
      if (name == TENON_CLASS_NAMES) return &kClasses;
    }
    if constexpr (has_preprocessing<T>) {
      static constexpr tenon_preprocessing_lists kPreprocessing = {sizeof(tenon_preprocessing_lists),
                                                                   &hand_out_member<Self, &Self::preprocessing>};
      if (name == TENON_PREPROCESSING) return &kPreprocessing;
    }
    if constexpr (has_tokenizer<T>) {
      static constexpr tenon_tokenizer kTokenizer = {sizeof(tenon_tokenizer), &hand_out_member<Self, &Self::tokenizer>,
                                                     &call_member<Self, &Self::encode>,
                                                     &call_member<Self, &Self::decode>};
      if (name == TENON_TOKENIZER) return &kTokenizer;
    }
    if constexpr (has_sample_name<T>) {
      static constexpr tenon_sample_names kNames = {sizeof(tenon_sample_names), &call_member<Self, &Self::sample_name>};
      if (name == TENON_SAMPLE_NAMES) return &kNames;
    }
    if constexpr (has_prepare<T>) {
      static constexpr tenon_prepare kPrepare = {sizeof(tenon_prepare), &prepare};
      if (name == TENON_PREPARE) return &kPrepare;
    }
    if constexpr (has_lengths<T>) {
      static constexpr tenon_sample_lengths kLengths = {sizeof(tenon_sample_lengths),
                                                        &call_member<Self, &Self::lengths>};
      if (name == TENON_SAMPLE_LENGTHS) return &kLengths;
    }
    if constexpr (has_weights<T>) {
      static constexpr tenon_sample_weights kWeights = {sizeof(tenon_sample_weights),
                                                        &call_member<Self, &Self::weights>};
      if (name == TENON_SAMPLE_WEIGHTS) return &kWeights;
    }
    return Extensions<ParameterRolesExtension<T>>::find(id);
  }

  static constexpr tenon_dataset make() {
    tenon_dataset made = {};
    made.size = sizeof made;
    made.create = &create<Self>;
    made.destroy = &destroy<Self>;
    made.length = &call_member<Self, &Self::length>;
    made.fields = &hand_out_member<Self, &Self::fields>;
    made.get = &call_member<Self, &Self::get>;
    if constexpr (has_worker<T>) {
      made.open_worker = &call_member<Self, &Self::open_worker>;
      made.close_worker = &close_worker;
    }
    if constexpr (has_fingerprint<T>) made.fingerprint = &call_member<Self, &Self::fingerprint>;
    return made;
  }

  T component;
  const Table<Field> fields;
  const Table<ClassList> classes;
  const Table<Preprocessing> preprocessing;
  const TokenizerTable tokenizer;

  static const tenon_dataset table;
};

template <class T>
const tenon_dataset DatasetInstance<T>::table = DatasetInstance<T>::make();

}  // namespace detail

// Registers T as the dataset `id`.
template <class T>
Component dataset(std::string id, std::string doc) {
  using Instance = detail::DatasetInstance<T>;
  constexpr bool has_extensions = detail::has_lengths<T> || detail::has_sample_name<T> || detail::has_schema<T> ||
                                  detail::has_weights<T> || detail::has_prepare<T> || detail::has_class_names<T> ||
                                  detail::has_preprocessing<T> || detail::has_tokenizer<T>;
  return detail::describe_component<T>(TENON_DATASET, std::move(id), std::move(doc), &Instance::table,
                                       has_extensions ? &Instance::get_extension : nullptr);
}

}  // namespace tenon
