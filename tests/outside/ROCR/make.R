# Rscript tests/outside/ROCR/make.R
source("tests/outside/write_vectors.R")
suppressMessages(library(ROCR))
data(ROCR.simple)
data <- list(label = ROCR.simple$labels, score = ROCR.simple$predictions)
inputs <- list(label = "$label", score = "$score")
predictions <- prediction(data$score, data$label)
number <- function(...) performance(predictions, ...)@y.values[[1]]
add("auc.value", inputs, number("auc"))
for (stop in c(0.05, 0.1, 0.3)) {
  add("partial_auc.value", c(inputs, list(max_fpr = stop)), number("auc", fpr.stop = stop))
}
names_of <- c(acc = "accuracy", sens = "recall", spec = "specificity", prec = "precision", npv = "npv",
              f = "f1", mat = "mcc", lift = "lift", odds = "diagnostic_odds_ratio", rpp = "flagged_rate")
cuts <- sort(data$score, decreasing = TRUE)[c(20, 60, 100, 150)]
for (k in names(names_of)) {
  curve <- performance(predictions, k)
  for (cut in cuts) {
    value <- curve@y.values[[1]][match(cut, curve@x.values[[1]])]
    if (is.finite(value)) add("metric.value", c(inputs, list(metric = names_of[[k]], threshold = cut)), value)
  }
}
write_vectors(
  "ROCR", "Sing et al. (2005), doi:10.1093/bioinformatics/bti623; its data ROCR.simple",
  "AUC, partial areas, and ten metrics at four cuts", data)
