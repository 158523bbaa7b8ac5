# Rscript tests/outside/precrec/make.R
source("tests/outside/write_vectors.R")
suppressMessages(library(precrec))
i <- 1:300
label <- as.integer(((i * 37) %% 101) / 101 < plogis(-1.8 + ((i * 13) %% 41) / 12))
data <- list(
  label = label, fine = ((i * 83) %% 307) / 307 + 0.3 * label,
  tied = round(((i * 13 + 5 * label) %% 23) / 23, 6))
for (name in c("fine", "tied")) {
  inputs <- list(label = "$label", score = paste0("$", name))
  theirs <- auc(evalmod(scores = data[[name]], labels = data$label, x_bins = 100000))
  add("auc.value", inputs, theirs$aucs[theirs$curvetypes == "ROC"], 12)
  # a sum of trapezia
  add("precision_recall_area.value", inputs, theirs$aucs[theirs$curvetypes == "PRC"], 7)
  partial <- part(evalmod(scores = data[[name]], labels = data$label), xlim = c(0, 0.25))
  areas <- pauc(partial)
  add("partial_auc.value", c(inputs, list(max_fpr = 0.25)),
      areas$paucs[areas$curvetypes == "ROC"], 12)
}
for (name in names(P10N10)) if (is.numeric(P10N10[[name]])) data[[paste0("p10n10_", name)]] <- P10N10[[name]]
data$p10n10_label <- as.integer(P10N10$labels == 1)
for (name in grep("_scores$", names(P10N10), value = TRUE)) {
  inputs <- list(label = "$p10n10_label", score = paste0("$p10n10_", name))
  theirs <- auc(evalmod(scores = P10N10[[name]], labels = P10N10$labels, x_bins = 100000))
  add("auc.value", inputs, theirs$aucs[theirs$curvetypes == "ROC"], 12)
  add("precision_recall_area.value", inputs, theirs$aucs[theirs$curvetypes == "PRC"], 6)
}
write_vectors(
  "precrec", "Saito, Rehmsmeier (2017), doi:10.1093/bioinformatics/btw570; its data P10N10, and data by formulas",
  "AUC, partial AUC, interpolated area under precision and recall", data,
  "precrec sums trapezia of the interpolated curve; our integral is exact.")
