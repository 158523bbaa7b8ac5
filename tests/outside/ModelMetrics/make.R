# Rscript tests/outside/ModelMetrics/make.R
source("tests/outside/write_vectors.R")
suppressMessages(library(ModelMetrics))
i <- 1:70
data <- list(
  label = as.integer((i * 3) %% 10 < 3),
  score = round(0.04 + ((i * 19) %% 47) / 60 + ((i * 3) %% 10 < 3) / 8, 3))
y <- data$label; p <- data$score
inputs <- list(label = "$label", score = "$score")
add("auc.value", inputs, auc(y, p))
add("brier.value", inputs, brier(y, p))
add("log_loss.value", inputs, logLoss(y, p))
for (cut in c(0.25, 0.5, 0.75)) {
  # it says positive above its cutoff, and no score is one of these cutoffs
  stopifnot(!cut %in% p)
  theirs <- list(
    recall = recall(y, p, cut), specificity = specificity(y, p, cut), npv = npv(y, p, cut),
    precision = ppv(y, p, cut), f1 = f1Score(y, p, cut), mcc = mcc(y, p, cut),
    kappa = kappa(y, p, cut), accuracy = 1 - ce(y, p > cut))
  for (metric in names(theirs)) {
    add("metric.value", c(inputs, list(metric = metric, threshold = cut)), theirs[[metric]])
  }
}
write_vectors(
  "ModelMetrics", "Hunt; data by formulas",
  "AUC, Brier score, log loss, and eight metrics at three cuts", data)
