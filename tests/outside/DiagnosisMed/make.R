# Rscript tests/outside/DiagnosisMed/make.R
source("tests/outside/write_vectors.R")
suppressWarnings(suppressMessages(library(DiagnosisMed)))
for (cells in list(c(80, 20, 15, 185), c(12, 3, 4, 40), c(300, 120, 30, 900))) {
  # its order: true positives, false negatives, false positives, true negatives
  theirs <- diagnosis(cells[1], cells[3], cells[2], cells[4], print = FALSE, plot = FALSE)
  inputs <- list(tp = cells[1], fp = cells[2], fn = cells[3], tn = cells[4])
  names <- c(recall = "Se", specificity = "Sp", precision = "PPV", npv = "NPV", accuracy = "accu")
  for (metric in names(names)) {
    of_metric <- c(inputs, list(metric = metric))
    add("table.value", of_metric, theirs[[names[metric]]], 12)
    ends <- theirs[[paste0(names[metric], ".cl")]]
    add("table.low", of_metric, ends[1], 10)
    add("table.high", of_metric, ends[2], 10)
  }
  ratios <- c(lr_positive = "PLR", lr_negative = "NLR", youden = "Youden", diagnostic_odds_ratio = "DOR")
  for (metric in names(ratios)[1:3])
    add("table.value", c(inputs, list(metric = metric)), theirs[[ratios[metric]]], 10)
}
write_vectors(
  "DiagnosisMed", "Brasil; diagnosis", "Accuracy measures of 2x2 tables with Wilson's intervals", list(),
  c("Its odds ratio is the conditional estimate of Fisher's exact test; ours is tp tn / (fp fn).",
    "Its interval of Youden's index may end on the wrong side; ours is Newcombe's."))
