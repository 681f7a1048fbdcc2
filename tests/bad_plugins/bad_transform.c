/* A transform that inverts the colours of an image, with one fault. */
#include <sched.h>
#include <stdlib.h>
#include <tenon/draft/transforms.h>

#include "describe.h"

static int shared;
static int calls;

static tenon_status create(const tenon_host* from, const tenon_params* params, void** made) {
  (void)from;
  (void)params;
  *made = malloc(1);
  return *made ? TENON_OK : fail("out of memory");
}

static void destroy(void* self) { free(self); }

/* Writes the number to a shared buffer, waits for another thread to write to it, and reads it again. */
static int pass_through_shared(int number) {
  int* volatile buffer = &shared;
  int i;
  __atomic_store_n(buffer, number, __ATOMIC_SEQ_CST);
  for (i = 0; i < 1000 && __atomic_load_n(buffer, __ATOMIC_SEQ_CST) == number; ++i) sched_yield();
  return __atomic_load_n(buffer, __ATOMIC_SEQ_CST);
}

static void move_boxes(tenon_moving_image* image) {
  uint64_t i, row;
  for (i = 0; i < image->target_count; ++i)
    if (image->targets[i]->kind == TENON_IMAGE_BOXES)
      for (row = 0; row < image->targets[i]->kept_count; ++row) ((float*)image->targets[i]->values)[4 * row] += 0.25f;
}

static tenon_status apply(void* self, tenon_moving_image* image, uint64_t seed) {
  const int64_t count = 3 * image->height * image->width;
  int64_t i;
  (void)self;
  if (FAULT == APPLY_THROWS) throw_exception();
  if (FAULT == APPLY_REFUSES_ALL_IMAGES) return host->fail(TENON_BAD_DATA, text("the image is too small"));
  for (i = 0; i < count; ++i) image->pixels[i] = (uint8_t)(255 - image->pixels[i]);
  image->pixels[0] = (uint8_t)(seed & 255);
  if (FAULT == APPLY_WRITES_PAST_THE_PIXELS) image->pixels[count] = 0;
  if (FAULT == APPLY_RETURNS_ANOTHER_SIZE) return image->resize(image, image->height + 1, image->width);
  if (FAULT == APPLY_MOVES_BOXES_ALONE) move_boxes(image);
  if (FAULT == APPLY_COUNTS) image->pixels[0] = (uint8_t)++calls;
  if (FAULT == APPLY_SHARES_A_BUFFER) image->pixels[0] = (uint8_t)pass_through_shared(image->pixels[0]);
  return TENON_OK;
}

static tenon_status output_size(void* self, int64_t* height, int64_t* width) {
  (void)self;
  (void)height;
  (void)width;
  return TENON_OK;
}

tenon_status tenon_plugin_open(const tenon_offer* offer, tenon_reply* reply) {
  static tenon_transform table;
  table.size = sizeof table;
  table.create = create;
  table.destroy = destroy;
  table.apply = apply;
  table.output_size = output_size;
  if (FAULT == APPLY_RETURNS_ANOTHER_SIZE) table.moved_kinds = TENON_MOVES_ALL;
  return describe(offer, reply, TENON_DRAFT_TRANSFORM, &table, NULL);
}
