// A host for the tests of the plugin API. Parameters come from a map, failures are recorded, tensors are small lists of
// integers, and operators only record their names. It uses neither LibTorch nor the framework.
#pragma once

#include <tenon/tenon.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

struct tenon_tensor {
  int32_t dtype = TENON_INT64;
  std::vector<int64_t> shape;
  std::vector<int64_t> elements;
  int owners = 1;
};

struct tenon_params {
  std::map<std::string, tenon_value> values;
};

struct tenon_op {
  std::string name;
};

namespace tenon::test {

// The arguments of an operator call.
struct Call {
  std::string op;  // with the overload: "aten::add.Tensor"
  std::vector<tenon_value> args;
  tenon_tensor* result;
};

// The functions in table() use the current instance. Only one instance may exist at a time.
class FakeHost {
 public:
  FakeHost();
  ~FakeHost();
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  const tenon_host* table() const { return &table_; }

  // Opens the plugin through its entry point. REQUIRES: entry accepts the version of this host.
  const tenon_plugin* open(tenon_plugin_open_function entry) const;

  tenon_tensor* make_tensor(std::vector<int64_t> shape, std::vector<int64_t> elements = {},
                            int32_t dtype = TENON_INT64);

  std::string failure;           // message of the last fail()
  std::vector<Call> calls;       // in order
  std::string unknown_operator;  // the lookup of this operator fails
  std::string failing_operator;  // the call of this operator fails
  std::map<std::string, const void*> extensions;

 private:
  friend struct FakeFunctions;
  tenon_host table_ = {};
  std::map<std::string, tenon_op> operators_;
  std::deque<tenon_tensor> tensors_;
};

// Returns a component of a plugin by its id. Fails the test if there is none.
const tenon_component& find_component(const tenon_plugin* plugin, const std::string& id);

// Returns the table of a component.
template <class Table>
const Table& table_of(const tenon_component& component) {
  return *static_cast<const Table*>(component.table);
}

std::string to_text(tenon_string text);
tenon_string to_string(const char* text);

}  // namespace tenon::test
