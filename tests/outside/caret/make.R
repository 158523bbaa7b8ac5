# Rscript tests/outside/caret/make.R
source("tests/outside/write_vectors.R")
suppressMessages(library(caret))
names_of <- c(Sensitivity = "recall", Specificity = "specificity", "Pos Pred Value" = "precision",
              "Neg Pred Value" = "npv", F1 = "f1", "Detection Prevalence" = "flagged_rate",
              "Balanced Accuracy" = "balanced_accuracy")
for (cells in list(c(670, 202, 74, 640), c(9, 3, 2, 14), c(45, 310, 5, 2140))) {
  table <- as.table(matrix(cells, nrow = 2, byrow = TRUE, dimnames = list(c("yes", "no"), c("yes", "no"))))
  theirs <- confusionMatrix(table, positive = "yes")
  inputs <- list(tp = cells[1], fp = cells[2], fn = cells[3], tn = cells[4])
  for (k in names(names_of)) add("table.value", c(inputs, list(metric = names_of[[k]])), theirs$byClass[[k]])
  add("table.value", c(inputs, list(metric = "accuracy")), theirs$overall[["Accuracy"]])
  add("table.value", c(inputs, list(metric = "kappa")), theirs$overall[["Kappa"]])
}
write_vectors(
  "caret", "Kuhn (2008), doi:10.18637/jss.v028.i05; confusionMatrix",
  "Nine metrics of three 2x2 tables", setNames(list(), character()),
  c("caret takes predictive values at its prevalence argument; ours is stated once, when cases are counted."))
