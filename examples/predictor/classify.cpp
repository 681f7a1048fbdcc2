// Prints the most probable class of images: classify MODEL.tenon IMAGE...
#include <exception>
#include <iostream>
#include <tenon/draft/predictor.hpp>

using tenon::draft::InputValue;

int main(int count, char** arguments) try {
  if (count < 3) throw std::invalid_argument("usage: classify MODEL.tenon IMAGE...");
  tenon::draft::Predictor predictor({arguments[1]});
  for (int i = 2; i < count; ++i) {
    const auto prediction = predictor.run(InputValue::image_file(arguments[i]), 1);
    const auto best = prediction.top(0).front();
    std::cout << arguments[i] << '\t' << best.name << '\t' << best.probability << '\n';
  }
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
