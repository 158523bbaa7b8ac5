# Rscript tests/outside/PRROC/make.R
source("tests/outside/write_vectors.R")
suppressMessages(library(PRROC))
i <- 1:240
label <- as.integer(((i * 37) %% 101) / 101 < plogis(-1.5 + ((i * 13) %% 41) / 12))
data <- list(
  label = label, fine = ((i * 83) %% 251) / 251 + 0.3 * label,
  tied = round(((i * 13 + 7 * label) %% 19) / 19, 6), weight = 1 + (i * 11) %% 4)
for (name in c("fine", "tied")) {
  inputs <- list(label = "$label", score = paste0("$", name))
  s <- data[[name]]
  pr <- pr.curve(scores.class0 = s[label == 1], scores.class1 = s[label == 0])
  roc <- roc.curve(scores.class0 = s[label == 1], scores.class1 = s[label == 0])
  add("precision_recall_area.value", inputs, pr$auc.integral, 11)
  add("auc.value", inputs, roc$auc, 12)
  w <- data$weight
  pr <- pr.curve(s, s, weights.class0 = w * label, weights.class1 = w * (1 - label))
  add("precision_recall_area.value", c(inputs, list(weight = "$weight")), pr$auc.integral, 11)
}
write_vectors(
  "PRROC", "Grau, Grosse, Keilwagen (2015), doi:10.1093/bioinformatics/btv153; data by formulas",
  "Interpolated area under precision and recall, also weighted; AUC", data)
