#include "tests/datasets/opened_dataset.h"

#include <dlfcn.h>
#include <tenon/class_names.h>
#include <tenon/draft/fitted_data.h>
#include <tenon/draft/images.h>
#include <tenon/sample_names.h>
#include <tenon/sample_order.h>
#include <tenon/tokenizer.h>

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "framework/images/transforms/host_interface.h"

struct tenon_params {
  const ParamValues& values;
};

namespace {

std::string last_failure;
std::vector<std::string> log_lines;

tenon_status fail(tenon_status status, tenon_string message) {
  last_failure.assign(message.data, message.size);
  return status;
}

template <typename T>
std::vector<T> to_vector(const std::vector<std::byte>& bytes) {
  std::vector<T> numbers(bytes.size() / sizeof(T));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
  return numbers;
}

// Values borrow from their originals, and lists of texts borrow from `borrowed`.
struct ToTenon {
  std::vector<tenon_string>& borrowed;

  tenon_value operator()(bool truth) const { return tenon_bool(truth); }
  tenon_value operator()(int64_t number) const { return tenon_int(number); }
  tenon_value operator()(double number) const { return tenon_float(number); }
  tenon_value operator()(const std::string& text) const { return tenon_text(text.data(), text.size()); }
  tenon_value operator()(const std::vector<int64_t>& numbers) const {
    return tenon_list_value(TENON_VALUE_INTS, numbers.data(), numbers.size());
  }
  tenon_value operator()(const std::vector<double>& numbers) const {
    return tenon_list_value(TENON_VALUE_FLOATS, numbers.data(), numbers.size());
  }
  tenon_value operator()(const std::vector<std::string>& texts) const {
    borrowed.clear();
    for (const std::string& text : texts) borrowed.push_back(tenon_make_string(text.data(), text.size()));
    return tenon_list_value(TENON_VALUE_STRINGS, borrowed.data(), borrowed.size());
  }
};

using Texts = std::vector<std::string>;

// Of parameters that most tests do not set.
const ParamValues kDefaults = {{"background", std::vector<int64_t>{}},
                               {"cache", "none"},
                               {"cache_bytes", int64_t{1} << 30},
                               {"cache_dir", ""},
                               {"classes", Texts{}},
                               {"columns", Texts{}},
                               {"features", Texts{}},
                               {"fields", Texts{}},
                               {"label_separator", ""},
                               {"max_pixels", int64_t{1000000}},
                               {"max_value", int64_t{65535}},
                               {"missing_files", "error"},
                               {"multi_hot", Texts{}},
                               {"padding", 0.0},
                               {"root", ""},
                               {"same_draws", false},
                               {"scaled_decoding", true},
                               {"separator", "comma"},
                               {"split", "all"},
                               {"targets", Texts{}},
                               {"text", Texts{}},
                               {"tokenizer", ""},
                               {"tokenizer_text", ""},
                               {"transforms", Texts{}},
                               {"unlabelled", Texts{}},
                               {"validation_fraction", 0.3},
                               {"values", std::vector<int64_t>{}}};

tenon_status param(const tenon_params* params, tenon_string name, tenon_value* out) {
  for (const ParamValues* values : {&params->values, &kDefaults}) {
    const auto found = values->find(std::string(name.data, name.size));
    if (found == values->end()) continue;
    static std::vector<tenon_string> borrowed;
    *out = std::visit(ToTenon{borrowed}, found->second);
    return TENON_OK;
  }
  return fail(TENON_NOT_FOUND, TENON_STRING("the test gave no value for a parameter"));
}

const tenon_images* open_images(const tenon_host& host) {
  static void* const library = dlopen(TENON_BINARY_DIR "/lib/tenon/libtenon_images.so", RTLD_NOW | RTLD_NODELETE);
  void* const symbol = library ? dlsym(library, images::kOpenImages) : nullptr;
  if (!symbol) throw std::runtime_error(dlerror());
  return reinterpret_cast<images::OpenImages>(symbol)(&host, nullptr);
}

const tenon_host& host() {
  static const tenon_host table = [] {
    tenon_host made = {};
    made.size = sizeof made;
    made.abi = TENON_ABI_CURRENT;
    made.fail = &fail;
    made.param = &param;
    made.get_extension = [](tenon_string id) -> const void* {
      return std::string_view(id.data, id.size) == TENON_IMAGES ? open_images(host()) : nullptr;
    };
    made.log = [](uint32_t, tenon_string message) { log_lines.emplace_back(message.data, message.size); };
    return made;
  }();
  return table;
}

void check(tenon_status status) {
  if (status != TENON_OK) throw Refused(status, last_failure);
}

size_t size_of(int32_t dtype) {
  if (dtype == TENON_FLOAT16) return 2;
  if (dtype == TENON_FLOAT32 || dtype == TENON_INT32) return 4;
  if (dtype == TENON_INT64 || dtype == TENON_FLOAT64) return 8;
  if (dtype == TENON_UINT8 || dtype == TENON_BOOL) return 1;
  throw std::logic_error("a dtype unknown to these tests");
}

std::string text_of(tenon_string text) { return {text.data, text.size}; }

const char* name_of(int32_t dtype) {
  if (dtype == TENON_FLOAT16) return "float16";
  if (dtype == TENON_FLOAT32) return "float32";
  if (dtype == TENON_FLOAT64) return "float64";
  if (dtype == TENON_INT32) return "int32";
  if (dtype == TENON_BOOL) return "bool";
  return dtype == TENON_UINT8 ? "uint8" : "int64";
}

// Memory of one sample, exactly as large as its fields, so that an address sanitizer detects a write past the end.
struct Slots {
  const std::vector<const tenon_field*>& fields;
  SampleBytes bytes;

  static tenon_status slot(const tenon_sink* sink, uint64_t field, const int64_t* shape, uint32_t ndim, void** memory) {
    Slots& slots = *static_cast<Slots*>(sink->context);
    size_t size = size_of(slots.fields.at(field)->dtype);
    for (uint32_t i = 0; i < ndim; ++i) size *= static_cast<size_t>(shape[i]);
    std::vector<std::byte>& bytes = slots.bytes[text_of(slots.fields.at(field)->name)];
    if (bytes.size() != size) bytes.assign(size, std::byte{0xAA});
    *memory = bytes.data();
    return TENON_OK;
  }
};

// Throws std::logic_error with the text `missing` if the component lacks the extension.
template <class Extension>
const Extension& extension_of(const tenon_component& component, tenon_string id, const char* missing) {
  const void* const found = component.get_extension ? component.get_extension(id) : nullptr;
  if (!found) throw std::logic_error(missing);
  return *static_cast<const Extension*>(found);
}

const tenon_fitted_data& fitting_of(const tenon_component& component) {
  return extension_of<tenon_fitted_data>(component, TENON_STRING(TENON_FITTED_DATA),
                                         "the dataset derives nothing from its data");
}

const tenon_tokenizer& tokenizer_of(const tenon_component& component) {
  return extension_of<tenon_tokenizer>(component, TENON_STRING(TENON_TOKENIZER), "the dataset has no tokenizer");
}

tenon_text_sink append_to(std::string& text) {
  return {sizeof(tenon_text_sink), &text, [](const tenon_text_sink* to, tenon_string bytes) -> tenon_status {
            static_cast<std::string*>(to->context)->append(bytes.data, bytes.size);
            return TENON_OK;
          }};
}

}  // namespace

ParamValues with_changes(ParamValues params, const ParamValues& changes) {
  for (const auto& [name, value] : changes) params[name] = value;
  return params;
}

OpenedDataset::OpenedDataset(const std::filesystem::path& file, const ParamValues& params, const std::string& fitted) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) throw std::runtime_error(dlerror());
  const auto open = reinterpret_cast<tenon_plugin_open_function>(dlsym(library, TENON_ENTRY_SYMBOL));
  const tenon_offer offer = {TENON_ABI_OLDEST, TENON_ABI_CURRENT, &host(), TENON_STRING("test")};
  tenon_reply reply = {};
  check(open(&offer, &reply));
  component_ = reply.plugin->components[0];
  table_ = static_cast<const tenon_dataset*>(component_->table);
  log_lines.clear();
  const tenon_params given = {params};
  if (fitted.empty())
    check(table_->create(&host(), &given, &self_));
  else
    check(fitting_of(*component_).create(&host(), &given, tenon_make_string(fitted.data(), fitted.size()), &self_));
  const tenon_field* const* fields = nullptr;
  uint64_t count = 0;
  check(table_->fields(self_, &fields, &count));
  fields_.assign(fields, fields + count);
  if (table_->open_worker) check(table_->open_worker(self_, 0, 0, &worker_));
}

OpenedDataset::~OpenedDataset() {
  if (worker_) table_->close_worker(self_, worker_);
  if (self_) table_->destroy(self_);
}

uint64_t OpenedDataset::fingerprint() const {
  if (!table_->fingerprint) throw std::logic_error("the dataset computes no fingerprint");
  uint64_t number = 0;
  check(table_->fingerprint(self_, &number));
  return number;
}

std::string OpenedDataset::fitted_data() const {
  std::string bytes;
  const tenon_text_sink sink = append_to(bytes);
  check(fitting_of(*component_).save(self_, &sink));
  return bytes;
}

std::vector<std::string> OpenedDataset::describe_classes() const {
  const auto& extension =
      extension_of<tenon_class_lists>(*component_, TENON_STRING(TENON_CLASS_NAMES), "the dataset has no classes");
  const tenon_class_names* const* lists = nullptr;
  uint64_t count = 0;
  check(extension.classes(self_, &lists, &count));
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < count; ++i) {
    std::string text = text_of(lists[i]->field) + ": ";
    if (!lists[i]->names) text += std::to_string(lists[i]->count);
    for (uint64_t k = 0; lists[i]->names && k < lists[i]->count; ++k)
      text += (k == 0 ? "" : ", ") + text_of(lists[i]->names[k]);
    texts.push_back(std::move(text));
  }
  return texts;
}

int64_t OpenedDataset::size() const {
  int64_t length = 0;
  check(table_->length(self_, &length));
  return length;
}

std::vector<std::string> OpenedDataset::describe_fields() const {
  std::vector<std::string> texts;
  for (const tenon_field* field : fields_) {
    std::string text = text_of(field->name) + ' ' + name_of(field->dtype);
    for (uint32_t i = 0; i < field->ndim; ++i) text += (i == 0 ? ' ' : ',') + std::to_string(field->shape[i]);
    texts.push_back(std::move(text));
  }
  return texts;
}

SampleBytes OpenedDataset::get(int64_t index, uint64_t seed) const { return read(worker_, index, seed); }

SampleBytes OpenedDataset::read(void* worker, int64_t index, uint64_t seed) const {
  Slots slots{fields_, {}};
  tenon_sample sample = {};
  sample.size = sizeof sample;
  sample.index = index;
  sample.epoch = 1;
  sample.seed = seed;
  const tenon_sink sink = {sizeof sink, &slots, &Slots::slot};
  check(table_->get(self_, worker, &sample, &sink));
  return slots.bytes;
}

std::vector<float> OpenedDataset::floats(int64_t index, const std::string& field, uint64_t seed) const {
  return to_vector<float>(get(index, seed).at(field));
}

std::vector<uint8_t> OpenedDataset::bytes(int64_t index, const std::string& field, uint64_t seed) const {
  return to_vector<uint8_t>(get(index, seed).at(field));
}

std::vector<int64_t> OpenedDataset::integers(int64_t index, const std::string& field, uint64_t seed) const {
  return to_vector<int64_t>(get(index, seed).at(field));
}

int64_t OpenedDataset::integer(int64_t index, const std::string& field) const {
  const std::vector<std::byte> bytes = get(index).at(field);
  int64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

void OpenedDataset::open_workers(int64_t threads, int64_t times) const {
  std::atomic<int64_t> waiting{threads};
  std::vector<std::thread> running;
  for (int64_t id = 0; id < threads; ++id)
    running.emplace_back([&, id] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      for (int64_t i = 0; i < times; ++i) {
        void* worker = nullptr;
        if (table_->open_worker(self_, static_cast<uint64_t>(id), 0, &worker) == TENON_OK)
          table_->close_worker(self_, worker);
      }
    });
  for (std::thread& thread : running) thread.join();
}

void OpenedDataset::run_workers(int64_t threads, const std::function<void(const Get& get, int64_t id)>& work) const {
  std::vector<std::thread> running;
  for (int64_t id = 0; id < threads; ++id)
    running.emplace_back([&, id] {
      void* worker = nullptr;
      if (table_->open_worker(self_, static_cast<uint64_t>(id), 0, &worker) != TENON_OK) return;
      work([&](int64_t index) { return read(worker, index, 0); }, id);
      table_->close_worker(self_, worker);
    });
  for (std::thread& thread : running) thread.join();
}

std::vector<int64_t> OpenedDataset::lengths() const {
  const auto& known = extension_of<tenon_sample_lengths>(*component_, TENON_STRING(TENON_SAMPLE_LENGTHS),
                                                         "the dataset does not provide the lengths of its samples");
  std::vector<int64_t> lengths(static_cast<size_t>(size()));
  check(known.lengths(self_, lengths.data()));
  return lengths;
}

std::string OpenedDataset::describe_tokenizer() const {
  const tenon_tokenizer_info* info = nullptr;
  check(tokenizer_of(*component_).describe(self_, &info));
  if (!info) return "";
  std::string text;
  for (uint64_t i = 0; i < info->field_count; ++i) text += (i == 0 ? "" : ", ") + text_of(info->fields[i]);
  text += ":";
  for (const int64_t number : {info->vocabulary_size, info->begin, info->end, info->pad})
    text += ' ' + std::to_string(number);
  return text;
}

std::vector<int64_t> OpenedDataset::encode(const std::string& text) const {
  std::vector<int64_t> all;
  const tenon_token_sink sink = {sizeof sink, &all,
                                 [](const tenon_token_sink* to, const int64_t* tokens, uint64_t count) {
                                   auto& taken = *static_cast<std::vector<int64_t>*>(to->context);
                                   taken.insert(taken.end(), tokens, tokens + count);
                                   return tenon_status{TENON_OK};
                                 }};
  check(tokenizer_of(*component_).encode(self_, tenon_make_string(text.data(), text.size()), &sink));
  return all;
}

std::string OpenedDataset::decode(const std::vector<int64_t>& tokens) const {
  std::string all;
  const tenon_text_sink sink = append_to(all);
  check(tokenizer_of(*component_).decode(self_, tokens.data(), tokens.size(), &sink));
  return all;
}

std::string OpenedDataset::sample_name(int64_t index) const {
  const auto& known = extension_of<tenon_sample_names>(*component_, TENON_STRING(TENON_SAMPLE_NAMES),
                                                       "the dataset does not name its samples");
  std::string name;
  const tenon_text_sink sink = append_to(name);
  check(known.name(self_, index, &sink));
  return name;
}

const std::vector<std::string>& OpenedDataset::log() { return log_lines; }
