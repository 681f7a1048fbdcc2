/* Prints the outputs for a row of a table: predict_row MODEL.tenon [CELL...]. Without cells, prints the columns. */
#include <stdio.h>
#include <string.h>
#include <tenon/draft/predictor.h>

int main(int count, char** arguments) {
  if (count < 2) return fputs("usage: predict_row MODEL.tenon [CELL...]\n", stderr), 2;
  tenon_predictor_options options = {.size = sizeof options, .threads = 1};
  options.model.data = arguments[1];
  options.model.size = strlen(arguments[1]);
  tenon_predictor* predictor = NULL;
  if (tenon_predictor_open(&options, &predictor) != TENON_OK)
    return fprintf(stderr, "error: %s\n", tenon_predictor_error()), 1;

  const tenon_predictor_input* input = tenon_predictor_describe(predictor)->inputs[0];
  for (uint64_t i = 0; count == 2 && i < input->column_count; ++i)
    printf("%.*s\n", (int)input->columns[i].size, input->columns[i].data);

  tenon_string cells[256];
  tenon_predictor_value row = {.size = sizeof row, .kind = TENON_INPUT_ROW, .cells = cells};
  for (int i = 2; i < count && row.cell_count < 256; ++i)
    cells[row.cell_count++] = tenon_make_string(arguments[i], strlen(arguments[i]));
  const tenon_predictor_value* values[] = {&row};
  const tenon_predictor_request request = {
      .size = sizeof request, .values = values, .value_count = 1, .sample_count = 1};
  const tenon_prediction* prediction = NULL;
  tenon_status status = TENON_OK;
  if (count > 2) status = tenon_predictor_run(predictor, &request, &prediction);
  if (status != TENON_OK) fprintf(stderr, "error: %s\n", tenon_predictor_error());
  for (uint64_t i = 0; prediction && i < prediction->output_count; ++i) {
    const tenon_predicted_output* output = prediction->outputs[i];
    printf("%.*s", (int)output->name.size, output->name.data);
    for (uint64_t k = 0; output->dtype == TENON_FLOAT32 && k < output->byte_count / sizeof(float); ++k)
      printf(" %g", ((const float*)output->elements)[k]);
    printf("\n");
  }
  tenon_prediction_free(prediction);
  tenon_predictor_close(predictor);
  return status == TENON_OK ? 0 : 1;
}
