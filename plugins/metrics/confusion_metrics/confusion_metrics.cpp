// Metrics that are computed from the confusion matrix of predicted classes.
#include "plugins/metrics/confusion_metrics/class_overlap.h"
#include "plugins/metrics/confusion_metrics/confusion_matrix.h"
#include "plugins/metrics/confusion_metrics/precision_recall.h"

using namespace tenon::metrics;

TENON_PLUGIN("confusion_metrics", "0.1.0", "Apache-2.0",
             "Confusion matrix, precision, recall, F1 and overlap of predicted classes.",
             tenon::metric<ClassOverlap<IntersectionOverUnion>>(
                 "iou", "intersection over union of targets and predicted classes, mean over classes"),
             tenon::metric<ClassOverlap<DiceCoefficient>>(
                 "dice_score", "Dice coefficient of targets and predicted classes, mean over classes"),
             tenon::metric<PrecisionRecallF1>("precision_recall_f1", "precision, recall and F1 of predicted classes"),
             tenon::metric<BinaryPrecisionRecallF1>("binary_precision_recall_f1",
                                                    "precision, recall and F1 of binary predictions"),
             tenon::metric<ConfusionMatrix>("confusion_matrix", "confusion matrix of targets and predicted classes"),
             tenon::operators({"aten::bincount", "aten::masked_select"}))
