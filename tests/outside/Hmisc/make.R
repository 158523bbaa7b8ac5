# Rscript tests/outside/Hmisc/make.R
source("tests/outside/write_vectors.R")
suppressMessages(library(Hmisc))
i <- 1:90
data <- list(
  label = as.integer((i * 11) %% 13 < 4),
  ties = (i * 17 + 6 * ((i * 11) %% 13 < 4)) %% 19,
  few = as.integer((i * 5 + 2 * ((i * 11) %% 13 < 4)) %% 7 > 3),
  many = round(sqrt(i * 7 %% 31) + ((i * 29) %% 83) / 50, 4),
  weight = 1 + (i * 3) %% 5)
for (name in c("ties", "few", "many")) {
  inputs <- list(label = "$label", score = paste0("$", name))
  theirs <- somers2(data[[name]], data$label)
  add("scorecard.auc", inputs, theirs["C"])
  add("scorecard.gini", inputs, theirs["Dxy"])
  # a weight that is a whole number repeats the case
  theirs <- somers2(data[[name]], data$label, weights = data$weight, normwt = FALSE)
  add("auc.value", c(inputs, list(weight = "$weight")), theirs["C"])
}
write_vectors(
  "Hmisc", "Harrell; somers2; data by formulas",
  "Somers' Dxy, which is the Gini coefficient; AUC, also weighted", data)
