#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "tests/bad_plugins/validated.h"

namespace fs = std::filesystem;
using namespace tenon::bad_plugins;

namespace {

struct Expectation {
  const char* plugin;  // kind/fault
  const char* check;   // the only one that fails
  const char* reason;  // part of its message
};

// In the order of fault.h.
const Expectation kExpected[] = {
    {"dataset/entry_throws", "plugin entry", "threw an exception"},
    {"dataset/entry_refuses", "plugin entry", "the dongle is not plugged in"},
    {"dataset/entry_gives_nothing", "plugin entry", "returned no plugin (null)"},
    {"dataset/entry_changes_locale", "plugin entry-keeps-process", "the locale"},
    {"dataset/size_truncated", "plugin sizes", "the plugin's descriptor declares a size of 40 bytes"},
    {"dataset/size_huge", "plugin sizes", "component 0 declares a size of 9223372036854775808 bytes"},
    {"dataset/table_truncated", "plugin sizes", "the table of component 0 declares a size of 16 bytes"},
    {"dataset/count_without_list", "plugin lists", "the list of components has a count of 1 but is a null pointer"},
    {"dataset/param_is_null", "plugin lists", "component 0 has a null pointer at 0"},
    {"dataset/text_without_bytes", "plugin descriptor", "has a length but no text"},
    {"dataset/text_not_utf8", "plugin descriptor", "is not UTF-8 at byte 3"},
    {"dataset/id_with_blank", "plugin components", "expected lower-case letters"},
    {"dataset/function_is_null", "plugin components", "has no function length (it is null)"},
    {"dataset/default_out_of_range", "plugin components", "the default is 0"},
    {"dataset/operator_unknown", "plugin operators", "there is no operator aten::no_such_operator"},
    {"dataset/id_twice", "plugin accepted", "twice"},

    {"dataset/create_throws", "dataset.bad create", "threw an exception"},
    {"dataset/create_only_once", "dataset.bad create-again", "there is one already"},
    {"dataset/create_aborts_on_a_parameter", "dataset.bad odd-params", "SIGABRT (abort) in create (items = 7)"},
    {"dataset/create_fails_without_a_reason", "dataset.bad odd-params", "create with items = 100 returns status 1"},
    {"dataset/length_throws", "dataset.bad length", "threw an exception"},
    {"dataset/length_aborts", "dataset.bad length", "crashed with SIGABRT (abort) in length"},
    {"dataset/length_changes", "dataset.bad length", "length returns 10, then 9"},
    {"dataset/fields_throws", "dataset.bad fields", "threw an exception"},
    {"dataset/fields_change", "dataset.bad fields", "expected the same each time"},
    {"dataset/fields_alike", "dataset.bad fields", "field 1 is called \"label\"; expected a unique name"},
    {"dataset/open_worker_throws", "dataset.bad workers", "open_worker (worker 0): threw an exception"},
    {"dataset/get_throws", "dataset.bad get", "get (sample 0): threw an exception"},
    {"dataset/get_exits", "dataset.bad get", "ended the process in get (sample 0) with exit code 3"},
    {"dataset/get_leaves_by_exit_0", "dataset.bad get", "ended the process with exit() in get (sample 0)"},
    {"dataset/get_requests_another_shape", "dataset.bad get",
     "the sample's values has the shape [4]; expected [3] as declared in fields"},
    {"dataset/get_forgets_a_field", "dataset.bad get",
     "did not write the field values; every field must be requested once per sample"},
    {"dataset/get_writes_past_the_slot", "dataset.bad stays-in-slot",
     "sample 4 wrote outside of the slot of values, after"},
    {"dataset/get_writes_before_the_slot", "dataset.bad stays-in-slot", "slot of values, before its first byte"},
    {"dataset/get_leaves_an_element", "dataset.bad fills-slot", "sample 4 left element 1 of values unwritten"},
    {"dataset/get_counts", "dataset.bad repeats", "different bytes for sample 0 the second time"},
    {"dataset/get_remembers_the_last", "dataset.bad any-order", "from the last to the first"},
    {"dataset/get_shares_a_buffer", "dataset.bad threads", "while other threads call it"},
    {"dataset/get_sets_locale", "dataset.bad keeps-locale", "get changed the locale"},
    {"dataset/get_blocks_a_signal", "dataset.bad keeps-signal-mask", "get changed the mask of blocked signals"},
    {"dataset/get_handles_a_signal", "dataset.bad keeps-signal-handlers", "get changed the handlers of signals"},
    {"dataset/get_sets_umask", "dataset.bad keeps-umask", "get changed the umask"},
    {"dataset/get_changes_directory", "dataset.bad keeps-directory", "get changed the working directory"},
    {"dataset/get_closes_a_descriptor", "dataset.bad keeps-descriptors",
     "get changed the file descriptors of the host"},
    {"dataset/get_redirects_output", "dataset.bad keeps-descriptors", "get changed the file descriptors of the host"},
    {"dataset/get_sets_a_variable", "dataset.bad keeps-environment", "get changed the environment"},
    {"dataset/get_rounds_upward", "dataset.bad keeps-arithmetic", "get changed the modes of floating-point arithmetic"},
    {"dataset/late_get_sets_locale", "dataset.bad keeps-locale", "get changed the locale"},
    {"dataset/late_get_rounds_upward", "dataset.bad keeps-arithmetic", "get changed the modes of floating-point"},
    {"dataset/get_resets_sigterm", "dataset.bad keeps-signal-handlers", "get changed the handlers of signals"},
    {"dataset/get_prints", "dataset.bad keeps-output", "get writes to standard output: \"reading a sample\""},
    {"dataset/get_starts_a_thread", "dataset.bad starts-no-threads", "get of sample 4 started 1 thread"},
    {"dataset/get_starts_a_pool", "dataset.bad starts-no-threads", "get of sample 4 started 4 threads"},
    {"dataset/get_sets_opencv_threads", "dataset.bad keeps-opencv-threads",
     "get changed the number of threads of OpenCV"},
    {"dataset/class_is_beyond_the_last", "dataset.bad class-numbers",
     "get of sample 4 has 100 in label, which declares the classes 0 to 99"},
    {"dataset/mask_counts_from_1", "dataset.bad class-numbers",
     "get of sample 0 has 3 in mask, which declares the classes 0 to 2"},
    {"dataset/exception_without_a_reason", "dataset.bad extensions", "starts-no-threads has no reason"},
    {"dataset/exception_to_any_check", "dataset.bad extensions",
     "an exception to the check \"repeats\" is not possible"},
    {"dataset/fingerprint_changes", "dataset.bad fingerprint", "fingerprint returns 12345, then 12346"},
    {"dataset/lengths_table_is_empty", "dataset.bad extensions", "tenon.sample-lengths/1 lacks a function (null)"},
    {"dataset/length_is_negative", "dataset.bad sample-lengths", "sample 4 has -1; expected 0 or more"},
    {"dataset/lengths_change", "dataset.bad sample-lengths", "lengths returns 3 for sample 4, then 4"},
    {"dataset/lengths_are_too_many", "dataset.bad sample-lengths", "writes more than 10 numbers"},
    {"dataset/weight_is_nan", "dataset.bad sample-weights", "sample 4 has nan; expected a finite number"},
    {"dataset/weights_are_zero", "dataset.bad sample-weights", "all are 0; expected at least one above 0"},

    {"model/ports_throws", "model.bad ports", "threw an exception"},
    {"model/ports_change", "model.bad ports", "expected the same each time"},
    {"model/build_throws", "model.bad build", "threw an exception"},
    {"model/build_declares_twice", "model.bad build",
     "build ignores an error: the tensor name \"weight\" is empty or used twice"},
    {"model/forward_throws", "model.bad forward", "threw an exception"},
    {"model/forward_crashes", "model.bad forward", "crashed with SIGSEGV (invalid memory access) in forward"},
    {"model/forward_loops", "model.bad forward", "did not end within the time limit in forward"},
    {"model/output_of_another_dtype", "model.bad outputs", "the dtype is float32, expected float64"},
    {"model/output_of_another_shape", "model.bad outputs", "the shape is [1, 2, 4], expected [N, 4]"},
    {"model/output_is_null", "model.bad outputs", "returned no scores (null)"},
    {"model/output_is_nan", "model.bad finite-outputs", "NaN or infinity in scores"},
    {"model/forward_counts", "model.bad repeats", "different outputs for the same inputs"},
    {"model/forward_keeps_its_weight", "model.bad frame-tensors", "when its weights are copied to other tensors"},
    {"model/gradient_is_nan", "model.bad gradients", "the gradient of weight is NaN or infinite"},
    {"model/gradient_is_wrong", "model.bad gradcheck", "the numerical gradient is"},
    {"model/port_refuses_bfloat16", "model.bad autocast", "the dtype is bfloat16, expected float32/float64"},
    {"model/releases_a_borrowed_handle", "model.bad handles", "releases a handle that it does not own"},
    {"model/leaks_a_handle", "model.bad handles", "handles more than it has released"},
    {"model/calls_from_another_thread", "model.bad right-thread",
     "calls host->call on a thread other than the training thread"},
    {"model/operator_undeclared", "model.bad declared-operators", "does not declare: aten::exp"},

    {"model/port_has_no_such_dtype", "model.bad ports", "the port features has the set of dtypes 0x23c0"},
    {"model/port_has_the_number_of_a_dtype", "model.bad ports",
     "9 is the number of float64; expected bits 1 to 12, such as TENON_DTYPE_BIT(TENON_FLOAT64)"},
    {"model/output_depends_on_the_batch", "model.bad sample-by-sample",
     "scores of sample 0 depends on the other samples"},
    {"model/output_is_a_share_of_the_batch", "model.bad sample-by-sample", "depends on the other samples"},
    {"model/result_depends_on_the_batch", "model.bad results",
     "the result best of a sample alone differs from that in a batch"},
    {"model/result_without_lengths", "model.bad results",
     "best: returned no lengths; expected the number of rows of each sample"},

    {"loss/loss_throws", "loss.bad forward", "threw an exception"},
    {"loss/loss_not_scalar", "loss.bad scalar-loss", "expected a floating-point scalar"},
    {"loss/loss_detached", "loss.bad scalar-loss", "does not require grad"},
    {"loss/loss_is_nan", "loss.bad finite-loss", "NaN or infinite"},
    {"loss/weight_is_negative", "loss.bad weight", "the weight is -2"},
    {"loss/loss_counts", "loss.bad repeats", "a different loss for the same inputs"},
    {"loss/loss_gradient_is_wrong", "loss.bad gradcheck", "the numerical gradient is"},
    {"loss/loss_is_a_sum", "loss.bad adds-up", "return the mean over the items"},
    {"loss/loss_of_the_first_sample", "loss.bad adds-up", "the loss of a batch of 5 samples"},
    {"loss/loss_compares_samples", "loss.bad adds-up", "can declare an exception"},
    {"loss/loss_of_some_items", "loss.bad adds-up", "Expected their weighted mean"},
    {"loss/loss_of_the_worst_sample", "loss.bad adds-up", "Expected their weighted mean"},
    {"loss/weight_is_constant", "loss.bad adds-up", "the weight of a batch of 5 samples is 1; of the first 2 it is 1"},
    {"loss/weight_is_inverted", "loss.bad adds-up", "Expected their sum"},
    {"loss/capture_table_is_empty", "loss.bad extensions", "tenon.capture/1 lacks a function (null)"},

    {"metric/states_throws", "metric.bad states", "threw an exception"},
    {"metric/values_change", "metric.bad values", "expected the same each time"},
    {"metric/update_throws", "metric.bad evaluation", "threw an exception"},
    {"metric/compute_throws", "metric.bad evaluation", "threw an exception"},
    {"metric/compute_gives_infinity", "metric.bad evaluation", "compute returns infinity for mean"},
    {"metric/metric_remembers", "metric.bad starts-anew", "in a second evaluation of the same data"},
    {"metric/parts_do_not_add_up", "metric.bad adds-up", "from two halves of the data"},

    {"callback/subscribes_to_the_unknown", "callback.bad subscribe",
     "the events have bit 63, which this host does not know"},
    {"callback/on_event_throws", "callback.bad events", "threw an exception"},
    {"callback/requests_unknown_flag", "callback.bad events", "the requests have bit 6, which this host does not know"},
    {"callback/extension_for_every_id", "callback.bad extensions", "returns a table for an unknown id"},
    {"callback/state_is_lost", "callback.bad saved-state", "different bytes after load"},
    {"callback/load_trusts_its_bytes", "callback.bad foreign-state", "crashed with SIGABRT (abort) in load"},

    {"transform/apply_throws", "transform.bad apply", "threw an exception"},
    {"transform/apply_refuses_all_images", "transform.bad apply",
     "apply refuses all images from 1 x 1 to 64 x 48 pixels: "},
    {"transform/apply_writes_past_the_pixels", "transform.bad apply", "wrote outside of the pixels of an image"},
    {"transform/apply_returns_another_size", "transform.bad apply", "as output_size returns"},
    {"transform/apply_moves_boxes_alone", "transform.bad keeps-targets", "and moved_kinds is 0"},
    {"transform/apply_counts", "transform.bad repeats", "other bytes for an image of 48 x 64 pixels"},
    {"transform/apply_shares_a_buffer", "transform.bad threads", "while other threads call it"},
    {"transform/transform_with_a_path", "plugin components", "the parameter items of transform \"bad\" is a path"}};

const fs::path kFolder = TENON_BINARY_DIR "/tests/bad_plugins";

std::string file_of(const std::string& plugin) { return (kFolder / (plugin + ".so")).string(); }

std::set<std::string> built_plugins() {
  std::set<std::string> names;
  for (const char* kind : {"dataset", "model", "loss", "metric", "callback", "transform"})
    for (const fs::directory_entry& entry : fs::directory_iterator(kFolder / kind))
      if (entry.path().extension() == ".so") names.insert(std::string(kind) + "/" + entry.path().stem().string());
  return names;
}

void check_faults(const std::string& kind) {
  for (const Expectation& expected : kExpected) {
    if (!std::string(expected.plugin).starts_with(kind + "/")) continue;
    Options options;
    if (std::string(expected.plugin) == "model/forward_loops") options.timeout_s = 2;  // nothing else needs it
    const Answer answer = validate(file_of(expected.plugin), options);
    CAPTURE(expected.plugin);
    CAPTURE(answer.text);
    CHECK(answer.exit_code == 3);
    CHECK(answer.with("fail") == std::vector<std::string>{expected.check});
    CHECK(answer.with("warning").empty());
    const auto reason = answer.reasons.find(expected.check);
    REQUIRE(reason != answer.reasons.end());
    CHECK(reason->second.find(expected.reason) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("each bad dataset fails the check for its fault and no other") { check_faults("dataset"); }
TEST_CASE("each bad model fails the check for its fault and no other") { check_faults("model"); }
TEST_CASE("each bad loss fails the check for its fault and no other") { check_faults("loss"); }
TEST_CASE("each bad metric fails the check for its fault and no other") { check_faults("metric"); }
TEST_CASE("each bad callback fails the check for its fault and no other") { check_faults("callback"); }
TEST_CASE("each bad transform fails the check for its fault and no other") { check_faults("transform"); }

TEST_CASE("a plugin of each kind without a fault passes all checks, and docs/reference/validate.md names each") {
  std::ifstream file(TENON_SOURCE_DIR "/docs/reference/validate.md");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const char* kind : {"dataset", "model", "loss", "metric", "callback", "transform"}) {
    const Answer answer = validate(file_of(std::string(kind) + "/no_fault"));
    CAPTURE(answer.text);
    CHECK(answer.exit_code == 0);
    CHECK(answer.with("fail").empty());
    CHECK(answer.with("warning").empty());
    CHECK(answer.with("pass").size() > 20);
    const bool calls_operators = std::set<std::string>{"model", "loss", "metric"}.contains(kind);
    CHECK(answer.statuses.at(std::string(kind) + ".bad declared-operators") == (calls_operators ? "pass" : "skipped"));
    for (const auto& [name, status] : answer.statuses) {
      const std::string check = name.substr(name.find(' ') + 1);
      CAPTURE(check);
      CHECK(page.find("`" + check + "`") != std::string::npos);
    }
  }
}

TEST_CASE("NaN in a sample is a warning") {
  const Answer answer = validate(file_of("dataset/get_gives_nan"));
  CAPTURE(answer.text);
  CHECK(answer.exit_code == 0);
  CHECK(answer.with("warning") == std::vector<std::string>{"dataset.bad finite-samples"});
}

TEST_CASE("a port with a set of dtypes that is the number of another dtype is a warning") {
  const Answer answer = validate(file_of("metric/port_is_int16"));
  CAPTURE(answer.text);
  CHECK(answer.exit_code == 0);
  CHECK(answer.with("warning") == std::vector<std::string>{"metric.bad ports"});
  CHECK(answer.reasons.at("metric.bad ports").find("If float32 is meant, use TENON_DTYPE_BIT(8)") != std::string::npos);
}

TEST_CASE("a check that the plugin excepts is skipped with the reason of its author") {
  const Answer answer = validate(file_of("loss/excepted_loss_compares_samples"));
  CAPTURE(answer.text);
  CHECK(answer.exit_code == 0);
  CHECK(answer.statuses.at("loss.bad adds-up") == "skipped");
  CHECK(answer.reasons.at("loss.bad adds-up") ==
        "the plugin declares an exception: the other samples of a batch are its negatives");
}

TEST_CASE("every plugin that is built here is tested") {
  std::set<std::string> known{"dataset/get_gives_nan", "metric/port_is_int16", "loss/excepted_loss_compares_samples"};
  for (const char* kind : {"dataset", "model", "loss", "metric", "callback", "transform"})
    known.insert(std::string(kind) + "/no_fault");
  for (const Expectation& expected : kExpected) known.insert(expected.plugin);
  CHECK(built_plugins() == known);
}
