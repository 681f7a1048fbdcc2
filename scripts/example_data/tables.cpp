#include "scripts/example_data/tables.h"

#include <string>

#include "scripts/example_data/output_files.h"
#include "scripts/example_data/source_files.h"

namespace example_data {

void write_cars(const std::filesystem::path& folder) {
  write_file(folder / "cars.csv",
             "cylinders,displacement,horsepower,weight,acceleration,model_year,origin,car_name,mpg\n" +
                 read_mlxtend_file("autompg.csv.gz"));
}

void write_wine(const std::filesystem::path& folder) {
  write_file(folder / "wine.csv",
             "alcohol,malic_acid,ash,alcalinity_of_ash,magnesium,total_phenols,flavanoids,nonflavanoid_phenols,"
             "proanthocyanins,color_intensity,hue,od280_od315,proline,label\n" +
                 read_mlxtend_file("wine.csv"));
}

}  // namespace example_data
