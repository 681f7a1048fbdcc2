#include "tests/plugin_api/fake_host.h"

#include <doctest/doctest.h>

#include <cstring>
#include <utility>

namespace tenon::test {

namespace {

FakeHost* current = nullptr;

}  // namespace

struct FakeFunctions {
  static tenon_status fail(tenon_status status, tenon_string message) {
    current->failure = to_text(message);
    return status;
  }

  static void log(uint32_t, tenon_string) {}

  static tenon_status param(const tenon_params* params, tenon_string name, tenon_value* out) {
    const auto found = params->values.find(to_text(name));
    if (found == params->values.end()) return fail(TENON_NOT_FOUND, to_string("the host has no such parameter"));
    *out = found->second;
    return TENON_OK;
  }

  static void retain(tenon_tensor* tensor) {
    if (tensor) ++tensor->owners;
  }

  static void release(tenon_tensor* tensor) {
    if (tensor) --tensor->owners;
  }

  static tenon_status tensor_info(const tenon_tensor* tensor, tenon_tensor_info* out) {
    out->dtype = tensor->dtype;
    out->ndim = static_cast<uint32_t>(tensor->shape.size());
    out->shape = tensor->shape.data();
    out->numel = 1;
    for (const int64_t extent : tensor->shape) out->numel *= extent;
    return TENON_OK;
  }

  static tenon_status tensor_data(tenon_tensor* tensor, void** out) {
    *out = tensor->elements.data();
    return TENON_OK;
  }

  static tenon_status op(tenon_string name, tenon_string overload, const tenon_op** out) {
    const std::string full = to_text(name) + (overload.size ? "." + to_text(overload) : "");
    if (full == current->unknown_operator) return fail(TENON_NOT_FOUND, to_string("the host has no such operator"));
    *out = &current->operators_.try_emplace(full, tenon_op{full}).first->second;
    return TENON_OK;
  }

  // The result of every operator has the shape of its first argument.
  static tenon_status call(const tenon_frame*, const tenon_op* op, const tenon_value* args, uint64_t arg_count,
                           const tenon_named_value*, uint64_t, tenon_value* results, uint64_t) {
    if (op->name == current->failing_operator) return fail(TENON_FAILED, to_string("the host's operator failed"));
    const auto* first = static_cast<const tenon_tensor*>(args[0].as.p);
    tenon_tensor* result = current->make_tensor(first->shape, first->elements, first->dtype);
    current->calls.push_back({op->name, std::vector<tenon_value>(args, args + arg_count), result});
    results[0] = tenon_tensor_value(result);
    return TENON_OK;
  }

  static const void* get_extension(tenon_string id) {
    const auto found = current->extensions.find(to_text(id));
    return found == current->extensions.end() ? nullptr : found->second;
  }
};

FakeHost::FakeHost() {
  REQUIRE(current == nullptr);
  current = this;
  table_.size = sizeof table_;
  table_.abi = TENON_ABI_CURRENT;
  table_.fail = FakeFunctions::fail;
  table_.log = FakeFunctions::log;
  table_.param = FakeFunctions::param;
  table_.retain = FakeFunctions::retain;
  table_.release = FakeFunctions::release;
  table_.tensor_info = FakeFunctions::tensor_info;
  table_.tensor_data = FakeFunctions::tensor_data;
  table_.op = FakeFunctions::op;
  table_.call = FakeFunctions::call;
  table_.get_extension = FakeFunctions::get_extension;
}

FakeHost::~FakeHost() { current = nullptr; }

const tenon_plugin* FakeHost::open(tenon_plugin_open_function entry) const {
  const tenon_offer offer = {TENON_ABI_OLDEST, TENON_ABI_CURRENT, &table_, to_string("test")};
  tenon_reply reply = {};
  REQUIRE(entry(&offer, &reply) == TENON_OK);
  REQUIRE(reply.plugin != nullptr);
  return reply.plugin;
}

tenon_tensor* FakeHost::make_tensor(std::vector<int64_t> shape, std::vector<int64_t> elements, int32_t dtype) {
  return &tensors_.emplace_back(tenon_tensor{dtype, std::move(shape), std::move(elements)});
}

const tenon_component& find_component(const tenon_plugin* plugin, const std::string& id) {
  for (uint64_t i = 0; i < plugin->component_count; ++i) {
    if (to_text(plugin->components[i]->id) == id) return *plugin->components[i];
  }
  FAIL("the plugin has no component ", id);
  return *plugin->components[0];
}

std::string to_text(tenon_string text) {
  return text.size == 0 ? std::string() : std::string(text.data, static_cast<size_t>(text.size));
}

tenon_string to_string(const char* text) { return tenon_make_string(text, std::strlen(text)); }

}  // namespace tenon::test
