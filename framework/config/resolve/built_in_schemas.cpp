#include "framework/config/resolve/built_in_schemas.h"

#include "framework/config/file/batch_transform_keys.h"
#include "framework/config/file/optimizer_keys.h"
#include "framework/config/file/schedule_keys.h"
#include "framework/config/file/schema_keys.h"

namespace tenon::config {
namespace {

template <class Choice>
BuiltInSchema describe(const std::string& id, Choice defaults) {
  SchemaKeys keys;
  declare(keys, defaults);
  return {id, keys.take()};
}

template <class Choices>
std::vector<BuiltInSchema> describe_all(const Choices& choices) {
  std::vector<BuiltInSchema> schemas;
  for (const auto& choice : choices) schemas.push_back(describe(choice.use, choice.defaults));
  return schemas;
}

}  // namespace

const std::vector<BuiltInSchema>& optimizer_schemas() {
  static const std::vector<BuiltInSchema> schemas = describe_all(optimizer_choices());
  return schemas;
}

const std::vector<BuiltInSchema>& schedule_schemas() {
  static const std::vector<BuiltInSchema> schemas = describe_all(schedule_choices());
  return schemas;
}

const std::vector<BuiltInSchema>& batch_transform_schemas() {
  static const std::vector<BuiltInSchema> schemas = {describe("normalize", NormalizeBatch()),
                                                     describe("mix", MixBatch())};
  return schemas;
}

}  // namespace tenon::config
