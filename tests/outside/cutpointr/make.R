# Rscript tests/outside/cutpointr/make.R
source("tests/outside/write_vectors.R")
suppressMessages(library(cutpointr))
data(suicide)
data <- list(attempt = as.integer(suicide$suicide == "yes"), dsi = suicide$dsi)
inputs <- list(label = "$attempt", score = "$dsi")
best <- function(...) suppressMessages(cutpointr(
  suicide, dsi, suicide, pos_class = "yes", direction = ">=", ...))
add("auc.value", inputs, best()$AUC)
for (name in c("youden", "accuracy", "F1_score", "cohens_kappa")) {
  ours <- c(youden = "youden", accuracy = "accuracy", F1_score = "f1", cohens_kappa = "kappa")[[name]]
  answer <- best(method = maximize_metric, metric = get(name))
  cut <- answer$optimal_cutpoint[[1]]
  if (length(cut) > 1) next
  value <- answer[[make.names(name)]]
  add("best_threshold.value", c(inputs, list(maximize = ours)), value)
  # their cut is the smallest score that is positive, ours ends the range of cuts
  add("best_threshold.high", c(inputs, list(maximize = ours)), cut)
  for (metric in c("sensitivity", "specificity")) {
    here <- c(sensitivity = "recall", specificity = "specificity")[[metric]]
    add("metric.value", c(inputs, list(metric = here, threshold = cut)), answer[[metric]])
  }
}
write_vectors(
  "cutpointr", "Thiele, Hirschfeld (2021), doi:10.18637/jss.v098.i11; its data suicide",
  "Best thresholds by Youden's index, accuracy, F1 and kappa, with what they reach",
  data,
  c("cutpointr names one threshold; an optimal threshold of Trueness is an interval, whose upper end is that one."))
