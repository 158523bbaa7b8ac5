# Rscript tests/outside/pROC/make.R
source("tests/outside/write_vectors.R")
suppressMessages(library(pROC))
data(aSAH)
data <- list(
  poor = as.integer(aSAH$outcome == "Poor"),
  ndka = aSAH$ndka, s100b = aSAH$s100b, wfns = as.integer(aSAH$wfns))
markers <- c("ndka", "s100b", "wfns")
curve <- function(name) roc(data$poor, data[[name]], levels = 0:1, direction = "<")

for (name in markers) {
  inputs <- list(label = "$poor", score = paste0("$", name))
  marker <- curve(name)
  for (level in c(0.8, 0.95)) {
    interval <- ci.auc(marker, method = "delong", conf.level = level)
    with_method <- c(inputs, list(method = "delong", level = level))
    for (k in 1:3) add(paste0("auc.", c("low", "value", "high")[k]), with_method, interval[k])
  }
  add("auc.se", c(inputs, list(method = "delong")), sqrt(var(marker, method = "delong")))
  for (range in list(c(0, 0.1), c(0.2, 0.5), c(0, 1))) {
    limits <- 1 - range
    for (corrected in c(FALSE, TRUE)) {
      area <- function(focus) as.numeric(auc(
        marker, partial.auc = limits, partial.auc.focus = focus, partial.auc.correct = corrected))
      # McClish's correction holds for ranges that begin at an end of the axis
      if (corrected && range[1] > 0) next
      # nor has it a meaning where the curve is below the diagonal
      by_fpr <- area("sp")
      by_tpr <- suppressWarnings(area("se"))
      add("partial_auc.value", c(inputs, list(fpr = range, corrected = corrected)), by_fpr)
      if (is.finite(by_tpr)) add("partial_auc.value", c(inputs, list(tpr = rev(limits), corrected = corrected)), by_tpr)
    }
  }
  for (cut in quantile(data[[name]], c(0.25, 0.5, 0.75), type = 1)) {
    # pROC says positive above its threshold, so it is asked just below the score
    below <- cut - 1e-9
    answers <- c("sensitivity", "specificity", "accuracy", "ppv", "npv", "youden")
    metrics <- c("recall", "specificity", "accuracy", "precision", "npv", "youden")
    theirs <- coords(marker, below, input = "threshold", ret = answers, transpose = TRUE)
    theirs["youden"] <- theirs["youden"] - 1  # pROC leaves the 1 in
    for (k in seq_along(metrics)) {
      if (is.finite(theirs[k])) add("metric.value", c(inputs, list(metric = metrics[k], threshold = cut)), theirs[k])
    }
  }
  best <- coords(marker, "best", ret = c("sensitivity", "specificity"), best.method = "youden", transpose = FALSE)
  if (nrow(best) == 1) add("best_threshold.value", c(inputs, list(maximize = "youden")), sum(best) - 1)
}
for (pair in list(markers[1:2], markers[c(1, 3)], markers[2:3])) {
  inputs <- list(label = "$poor", first = paste0("$", pair[1]), second = paste0("$", pair[2]), method = "delong")
  test <- roc.test(curve(pair[1]), curve(pair[2]), method = "delong", paired = TRUE)
  add("compare_auc.difference", inputs, -diff(test$estimate))
  add("compare_auc.statistic", inputs, test$statistic)
  add("compare_auc.p_value", inputs, test$p.value)
  add("compare_auc.low", inputs, test$conf.int[1])
  add("compare_auc.high", inputs, test$conf.int[2])
  # of different cases
  test <- roc.test(curve(pair[1]), curve(pair[2]), method = "delong", paired = FALSE)
  inputs$paired <- FALSE
  add("compare_auc.difference", inputs, -diff(test$estimate))
  add("compare_auc.statistic", inputs, test$statistic)
  add("compare_auc.p_value", inputs, test$p.value)
}
# several classes: Hand and Till's mean over pairs of classes
i <- 1:120
data$class <- (i * 7) %% 4
for (k in 0:2) {
  data[[paste0("of_", k)]] <- round(0.2 + (data$class == k) / 7 + ((i * (11 + 2 * k)) %% 23) / 40, 3)
}
data$of_3 <- 3 - data$of_0 - data$of_1 - data$of_2
scores <- cbind("0" = data$of_0, "1" = data$of_1, "2" = data$of_2, "3" = data$of_3)
theirs <- multiclass.roc(data$class, scores, quiet = TRUE)
columns <- list("$of_0", "$of_1", "$of_2", "$of_3")
add("multiclass_auc.value", list(label = "$class", scores = columns, average = "hand-till"), theirs$auc)
write_vectors(
  "pROC", "Robin et al. (2011), doi:10.1186/1471-2105-12-77; its data aSAH",
  "AUC, DeLong's interval, standard error, z and p; partial areas; coords; Youden's best; Hand and Till's AUC of classes",
  data,
  c("pROC puts thresholds between two scores; a threshold of Trueness is a score, and cases at it are positive.",
    "Our default interval of the AUC is Newcombe's, which stays inside 0 and 1; pROC's is method=\"delong\"."))
