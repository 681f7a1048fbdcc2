#include "framework/data/read_ahead.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

using tenon::data::ReadAhead;
using tenon::data::SampleRange;

namespace {

std::exception_ptr make_error(const std::string& text) { return std::make_exception_ptr(std::runtime_error(text)); }

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::runtime_error& caught) {
    return caught.what();
  }
}

}  // namespace

TEST_CASE("tickets go out in order and never span two batches") {
  ReadAhead ahead(4, 3);
  ahead.start(10, 0);
  int64_t position = 0;
  while (const auto range = ahead.take(3)) {
    CHECK(range->position == position);
    CHECK(range->batch == position / 4);
    CHECK(range->place == position % 4);
    CHECK(range->place + range->count <= 4);
    position += range->count;
  }
  CHECK(position == 10);
}

TEST_CASE("no ticket is given for a batch beyond the ring until the front one is released") {
  ReadAhead ahead(4, 2);
  ahead.start(100, 0);
  CHECK(ahead.take(100)->batch == 0);
  CHECK(ahead.take(100)->batch == 1);
  CHECK_FALSE(ahead.take(100));
  ahead.release_front();
  CHECK(ahead.take(100)->batch == 2);
  CHECK_FALSE(ahead.take(100));
}

TEST_CASE("a batch is complete when all its tickets are finished, in whatever order") {
  ReadAhead ahead(4, 2);
  ahead.start(8, 0);
  const SampleRange first = *ahead.take(2);
  const SampleRange second = *ahead.take(2);
  const SampleRange next_batch = *ahead.take(4);
  ahead.finish(next_batch);
  ahead.finish(second);
  CHECK_FALSE(ahead.is_front_complete());
  ahead.finish(first);
  CHECK(ahead.is_front_complete());
  ahead.release_front();
  CHECK(ahead.is_front_complete());
  ahead.release_front();
  CHECK(ahead.is_over());
}

TEST_CASE("the error of the earliest place of a batch is kept, in any order of reports") {
  ReadAhead ahead(6, 2);
  ahead.start(12, 0);
  const SampleRange first = *ahead.take(2);
  const SampleRange second = *ahead.take(2);
  ahead.fail(second, 3, make_error("at 3"));
  CHECK_FALSE(ahead.is_front_complete());  // places 0 and 1 are still being read
  ahead.fail(first, 1, make_error("at 1"));
  CHECK(ahead.is_front_complete());
  CHECK(text_of(ahead.front_error()) == "at 1");
  CHECK_FALSE(ahead.take(6));  // the rest of the batch, and all later ones, are not needed
}

TEST_CASE("a failure leaves the batches before it to be delivered") {
  ReadAhead ahead(2, 3);
  ahead.start(100, 0);
  const SampleRange first = *ahead.take(2);
  const SampleRange second = *ahead.take(2);
  ahead.fail(second, 0, make_error("in the second"));
  CHECK_FALSE(ahead.take(2));
  ahead.finish(first);
  CHECK(ahead.is_front_complete());
  CHECK_FALSE(ahead.front_error());
  ahead.release_front();
  CHECK(ahead.is_front_complete());
  CHECK(text_of(ahead.front_error()) == "in the second");
}

TEST_CASE("a failure in a later batch does not hide one in an earlier batch") {
  ReadAhead ahead(2, 3);
  ahead.start(100, 0);
  const SampleRange first = *ahead.take(2);
  const SampleRange second = *ahead.take(2);
  ahead.fail(second, 0, make_error("in the second"));
  ahead.fail(first, 0, make_error("in the first"));
  CHECK(text_of(ahead.front_error()) == "in the first");
}

TEST_CASE("the last batch is as large as what is left") {
  ReadAhead ahead(4, 2);
  ahead.start(10, 2);
  CHECK(ahead.front() == 2);
  CHECK(ahead.kept_of(ahead.front()) == 2);
  const SampleRange range = *ahead.take(100);
  CHECK(range.position == 8);
  CHECK(range.count == 2);
  ahead.finish(range);
  CHECK(ahead.is_front_complete());
}

TEST_CASE("a new pass does not keep the errors of the previous one") {
  ReadAhead ahead(2, 2);
  ahead.start(4, 0);
  ahead.fail(*ahead.take(2), 0, make_error("old"));
  ahead.start(4, 0);
  ahead.finish(*ahead.take(2));
  CHECK_FALSE(ahead.front_error());
  CHECK(ahead.take(2));
}

TEST_CASE("the reader with the last unread tickets completes the batch, even if they were not taken last") {
  ReadAhead ahead(4, 2);
  ahead.start(6, 0);
  const auto first = ahead.take(1);
  const auto second = ahead.take(1);
  const auto rest = ahead.take(4);
  REQUIRE((first && second && rest));
  CHECK_FALSE(ahead.complete_batch(*rest));
  ahead.finish(*rest);
  CHECK_FALSE(ahead.complete_batch(*second));
  ahead.finish(*second);
  CHECK(ahead.complete_batch(*first));
  CHECK(ahead.size_of(0) == 4);
  const auto last = ahead.take(4);
  REQUIRE(last);
  CHECK(ahead.complete_batch(*last));
  CHECK(ahead.size_of(1) == 2);
}

TEST_CASE("no reader completes a batch with a failed sample") {
  ReadAhead ahead(4, 2);
  ahead.start(4, 0);
  const auto first = ahead.take(1);
  const auto second = ahead.take(1);
  REQUIRE((first && second));
  ahead.fail(*second, 1, make_error("broken"));
  CHECK_FALSE(ahead.complete_batch(*first));
}
