// A host for the tests of the plugin API: parameters come from a map, failures are kept, tensors are small lists of
// integers, and operators only leave their names. It has no LibTorch and nothing of the framework.
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

// What was handed to an operator.
struct Call {
  std::string op;  // with overload: "aten::add.Tensor"
  std::vector<tenon_value> args;
  tenon_tensor* result;
};

// While one lives, table() talks to it. Not two at a time.
class FakeHost {
 public:
  FakeHost();
  ~FakeHost();
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  const tenon_host* table() const { return &table_; }

  // Opens the plugin by its entry. REQUIRES: entry accepts this host's version.
  const tenon_plugin* open(tenon_plugin_open_function entry) const;

  tenon_tensor* make_tensor(std::vector<int64_t> shape, std::vector<int64_t> elements = {},
                            int32_t dtype = TENON_INT64);

  std::string failure;           // text of the last fail()
  std::vector<Call> calls;       // in order
  std::string unknown_operator;  // this one is not found
  std::string failing_operator;  // this one fails when called
  std::map<std::string, const void*> extensions;

 private:
  friend struct FakeFunctions;
  tenon_host table_ = {};
  std::map<std::string, tenon_op> operators_;
  std::deque<tenon_tensor> tensors_;
};

// A component of a plugin by its id; fails the test if there is none.
const tenon_component& find_component(const tenon_plugin* plugin, const std::string& id);

// The table of a component.
template <class Table>
const Table& table_of(const tenon_component& component) {
  return *static_cast<const Table*>(component.table);
}

std::string to_text(tenon_string text);
tenon_string to_string(const char* text);

}  // namespace tenon::test
