// A model, a loss and a metric for object detection.
#include <tenon/plugin.hpp>

#include "average_precision.hpp"
#include "centre_loss.hpp"
#include "centre_net.hpp"

TENON_PLUGIN("detector", "1.0.0", "MIT", "Object detection by the centres of objects.",
             tenon::draft::model_with_results<CentreNet>("centre_net", "an anchor-free detector of one stage"),
             tenon::draft::sum_loss<CentreLoss>("centre_loss", "focal loss of the centres, and the error of the sides"),
             tenon::metric<AveragePrecision>("box_precision", "average precision of boxes"))
