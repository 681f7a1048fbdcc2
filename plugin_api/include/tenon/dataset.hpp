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

template <class T, class = void>
inline constexpr bool has_worker = false;
template <class T>
inline constexpr bool has_worker<T, std::void_t<typename T::Worker>> = true;

template <class T, class = void>
inline constexpr bool has_fingerprint = false;
template <class T>
inline constexpr bool has_fingerprint<T, std::void_t<decltype(std::declval<const T&>().fingerprint())>> = true;

template <class T, class = void>
inline constexpr bool has_lengths = false;
template <class T>
inline constexpr bool has_lengths<T, std::void_t<decltype(std::declval<const T&>().lengths())>> = true;

template <class T, class = void>
inline constexpr bool has_weights = false;
template <class T>
inline constexpr bool has_weights<T, std::void_t<decltype(std::declval<const T&>().weights())>> = true;

template <class T, class = void>
inline constexpr bool has_prepare = false;
template <class T>
inline constexpr bool has_prepare<T, std::void_t<decltype(T::prepare(std::declval<const Params&>()))>> = true;

template <class T, class = void>
inline constexpr bool has_sample_name = false;
template <class T>
inline constexpr bool has_sample_name<T, std::void_t<decltype(std::declval<const T&>().sample_name(int64_t{}))>> = true;

// Copies one number per sample to the host. The host's memory has room for `samples` numbers.
template <class Number>
void put_each(const std::vector<Number>& given, int64_t samples, const char* what, Number* out) {
  if (given.size() != static_cast<uint64_t>(samples)) {
    throw Error(TENON_INVALID_ARGUMENT, std::string(what) + "() returned " + std::to_string(given.size()) +
                                            " numbers; size() returned " + std::to_string(samples));
  }
  std::copy(given.begin(), given.end(), out);
}

template <class T>
struct TENON_HIDDEN DatasetTable {
  struct Instance {
    explicit Instance(const tenon_params* params)
        : dataset(construct<T>(params)),
          fields(dataset.fields()),
          classes(class_names_of(dataset)),
          preprocessing(preprocessing_of(dataset)),
          tokenizer(tokenizer_of(dataset)) {}
    T dataset;
    const Table<Field> fields;
    const ClassLists classes;
    const Table<Preprocessing> preprocessing;
    const TokenizerTable tokenizer;
  };

  static std::vector<ClassNames> class_names_of(const T& dataset) {
    if constexpr (has_class_names<T>) return dataset.class_names();
    static_cast<void>(dataset);
    return {};
  }

  static std::vector<Preprocessing> preprocessing_of(const T& dataset) {
    if constexpr (has_preprocessing<T>) return dataset.preprocessing();
    static_cast<void>(dataset);
    return {};
  }

  static TokenizerInfo tokenizer_of(const T& dataset) {
    if constexpr (has_tokenizer<T>) return dataset.tokenizer();
    static_cast<void>(dataset);
    return {};
  }

  static Instance& instance(void* self) { return *static_cast<Instance*>(self); }

  static tenon_status create(const tenon_host*, const tenon_params* params, void** self) {
    return guard([&] { *self = new Instance(params); });
  }

  static void destroy(void* self) { delete static_cast<Instance*>(self); }

  static tenon_status length(void* self, int64_t* length) {
    return guard([&] { *length = static_cast<int64_t>(instance(self).dataset.size()); });
  }

  static tenon_status fields(void* self, const tenon_field* const** fields, uint64_t* count) {
    instance(self).fields.hand_out(fields, count);
    return TENON_OK;
  }

  static tenon_status open_worker(void* self, uint64_t worker_id, uint64_t seed, void** worker) {
    return guard([&] {
      using Worker = typename T::Worker;
      *worker = new Worker(instance(self).dataset.open_worker(worker_id, seed));
    });
  }

  static void close_worker(void*, void* worker) { delete static_cast<typename T::Worker*>(worker); }

  static tenon_status get(void* self, void* worker, const tenon_sample* sample, const tenon_sink* sink) {
    return guard([&] {
      const Sample requested = {sample->index, sample->epoch, sample->seed};
      const Sink out(sink, &instance(self).fields);
      const T& dataset = instance(self).dataset;  // const because all workers share it
      if constexpr (has_worker<T>) {
        dataset.get(*static_cast<typename T::Worker*>(worker), requested, out);
      } else {
        static_cast<void>(worker);
        dataset.get(requested, out);
      }
    });
  }

  static tenon_status fingerprint(void* self, uint64_t* fingerprint) {
    return guard([&] { *fingerprint = instance(self).dataset.fingerprint(); });
  }

  static tenon_status lengths(void* self, int64_t* lengths) {
    return guard([&] {
      const T& dataset = instance(self).dataset;
      put_each<int64_t>(dataset.lengths(), static_cast<int64_t>(dataset.size()), "lengths", lengths);
    });
  }

  static tenon_status weights(void* self, double* weights) {
    return guard([&] {
      const T& dataset = instance(self).dataset;
      put_each<double>(dataset.weights(), static_cast<int64_t>(dataset.size()), "weights", weights);
    });
  }

  static tenon_status classes(void* self, const tenon_class_names* const** classes, uint64_t* count) {
    instance(self).classes.hand_out(classes, count);
    return TENON_OK;
  }

  static tenon_status preprocessing(void* self, const tenon_preprocessing* const** lists, uint64_t* count) {
    instance(self).preprocessing.hand_out(lists, count);
    return TENON_OK;
  }

  static tenon_status tokenizer(void* self, const tenon_tokenizer_info** info) {
    *info = instance(self).tokenizer.describe();
    return TENON_OK;
  }

  static tenon_status encode(void* self, tenon_string text, const tenon_token_sink* sink) {
    return guard([&] {
      const std::vector<int64_t> tokens = instance(self).dataset.encode(std::string_view(text.data, text.size));
      check(sink->put(sink, tokens.data(), tokens.size()));
    });
  }

  static tenon_status decode(void* self, const int64_t* tokens, uint64_t count, const tenon_text_sink* sink) {
    return guard([&] {
      const std::string text = instance(self).dataset.decode(std::vector<int64_t>(tokens, tokens + count));
      check(sink->put(sink, borrow(text)));
    });
  }

  static tenon_status sample_name(void* self, int64_t index, const tenon_text_sink* sink) {
    return guard([&] {
      const std::string name = instance(self).dataset.sample_name(index);
      check(sink->put(sink, borrow(name)));
    });
  }

  static tenon_status prepare(const tenon_host*, const tenon_params* params) {
    return guard([&] { T::prepare(Params(params)); });
  }

  static const void* get_extension(tenon_string id) {
    if constexpr (has_class_names<T>) {
      static constexpr tenon_class_lists kClasses = {sizeof(tenon_class_lists), &classes};
      if (copy(id) == TENON_CLASS_NAMES) return &kClasses;
    }
    if constexpr (has_preprocessing<T>) {
      static constexpr tenon_preprocessing_lists kPreprocessing = {sizeof(tenon_preprocessing_lists), &preprocessing};
      if (copy(id) == TENON_PREPROCESSING) return &kPreprocessing;
    }
    if constexpr (has_tokenizer<T>) {
      static constexpr tenon_tokenizer kTokenizer = {sizeof(tenon_tokenizer), &tokenizer, &encode, &decode};
      if (copy(id) == TENON_TOKENIZER) return &kTokenizer;
    }
    if constexpr (has_sample_name<T>) {
      static constexpr tenon_sample_names kNames = {sizeof(tenon_sample_names), &sample_name};
      if (copy(id) == TENON_SAMPLE_NAMES) return &kNames;
    }
    if constexpr (ParameterRolesExtension<T>::is_provided) {
      if (copy(id) == TENON_PARAMETER_ROLES) return &ParameterRolesExtension<T>::table;
    }
    if constexpr (has_prepare<T>) {
      static constexpr tenon_prepare kPrepare = {sizeof(tenon_prepare), &prepare};
      if (copy(id) == TENON_PREPARE) return &kPrepare;
    }
    if constexpr (has_lengths<T>) {
      static constexpr tenon_sample_lengths kLengths = {sizeof(tenon_sample_lengths), &lengths};
      if (copy(id) == TENON_SAMPLE_LENGTHS) return &kLengths;
    }
    if constexpr (has_weights<T>) {
      static constexpr tenon_sample_weights kWeights = {sizeof(tenon_sample_weights), &weights};
      if (copy(id) == TENON_SAMPLE_WEIGHTS) return &kWeights;
    }
    static_cast<void>(id);
    return nullptr;
  }

  static constexpr tenon_dataset make() {
    tenon_dataset made = {};
    made.size = sizeof made;
    made.create = &create;
    made.destroy = &destroy;
    made.length = &length;
    made.fields = &fields;
    made.get = &get;
    if constexpr (has_worker<T>) {
      made.open_worker = &open_worker;
      made.close_worker = &close_worker;
    }
    if constexpr (has_fingerprint<T>) made.fingerprint = &fingerprint;
    return made;
  }

  static const tenon_dataset table;
};

template <class T>
const tenon_dataset DatasetTable<T>::table = DatasetTable<T>::make();

}  // namespace detail

// Registers T as the dataset `id`.
template <class T>
Component dataset(std::string id, std::string doc) {
  return {TENON_DATASET,
          std::move(id),
          std::move(doc),
          detail::schema_of<T>(),
          &detail::DatasetTable<T>::table,
          detail::has_lengths<T> || detail::has_sample_name<T> || detail::ParameterRolesExtension<T>::is_provided ||
                  detail::has_weights<T> || detail::has_prepare<T> || detail::has_class_names<T> ||
                  detail::has_preprocessing<T> || detail::has_tokenizer<T>
              ? &detail::DatasetTable<T>::get_extension
              : nullptr};
}

}  // namespace tenon
