# Rscript tests/outside/DescTools/make.R
source("tests/outside/write_vectors.R")
suppressMessages(library(DescTools))
for (cells in list(c(17, 43), c(3, 57), c(250, 750), c(9, 1))) {
  n <- sum(cells)
  for (method in c("wilson", "clopper-pearson")) {
    ours <- c(wilson = "wilson", "clopper-pearson" = "exact")[[method]]
    inputs <- list(tp = cells[1], fp = 0, fn = cells[2], tn = 0, metric = "recall", method = ours)
    theirs <- BinomCI(cells[1], n, method = method)
    add("table.value", inputs, theirs[1], 12)
    add("table.low", inputs, theirs[2], 10)
    add("table.high", inputs, theirs[3], 10)
  }
}
for (counts in list(c(56, 70, 48, 80), c(9, 10, 3, 10), c(290, 300, 240, 300))) {
  inputs <- list(first = counts[1:2], second = counts[3:4])
  theirs <- BinomDiffCI(counts[1], counts[2], counts[3], counts[4], method = "score")
  add("two_groups.difference", inputs, theirs[1], 12)
  add("two_groups.difference_low", inputs, theirs[2], 10)
  add("two_groups.difference_high", inputs, theirs[3], 10)
}
tables <- list(
  matrix(c(40, 9, 12, 60), 2, byrow = TRUE),
  matrix(c(20, 5, 1, 7, 30, 6, 2, 4, 25), 3, byrow = TRUE),
  matrix(c(11, 2, 0, 1, 3, 9, 2, 0, 1, 4, 8, 3, 0, 1, 2, 12), 4, byrow = TRUE))
for (table in tables) {
  counts <- lapply(seq_len(nrow(table)), function(i) as.list(table[i, ]))
  for (weights in c("Unweighted", "Equal-Spacing", "Fleiss-Cohen")) {
    inputs <- list(table = counts, method = "cohen")
    ours <- c("Equal-Spacing" = "linear", "Fleiss-Cohen" = "quadratic")
    if (weights != "Unweighted") inputs$weights <- ours[[weights]]
    add("rater_table.value", inputs, CohenKappa(table, weights = weights), 12)
  }
}
i <- 0:29
ratings <- 1 + cbind(i %% 3, (i + (i %% 7 == 0)) %% 3, (i + (i %% 5 == 1)) %% 3, (i + 2 * (i %% 4 == 3)) %% 3)
data <- list(four = setNames(lapply(1:4, function(k) ratings[, k]), letters[1:4]))
for (method in c("fleiss", "conger")) {
  theirs <- KappaM(ratings, method = c(fleiss = "Fleiss", conger = "Conger")[[method]])
  add("raters.value", list(ratings = "$four", method = method), theirs, 12)
}
data$two <- data$four[1:2]
add("raters.value", list(ratings = "$two", method = "krippendorff"), KrippAlpha(t(ratings[, 1:2]))$value, 12)
label <- as.integer((i * 5) %% 11 < 5)
score <- round(((i * 13) %% 17 + 4 * label) / 22, 6)
data$label <- label
data$score <- score
add("brier.value", list(label = "$label", score = "$score"), BrierScore(label, score), 12)
add("auc.value", list(label = "$label", score = "$score"), Cstat(score, resp = label), 12)
write_vectors(
  "DescTools", "Signorell et al.; BinomCI, BinomDiffCI, CohenKappa, KappaM, KrippAlpha, BrierScore, Cstat; tables of ours",
  "Intervals of Wilson, Clopper and Pearson, Newcombe; kappas of Cohen (weighted, too), Fleiss, Conger; alpha; Brier score, AUC",
  data,
  paste("KrippAlpha of more than two raters without missing ratings does not divide by their number less one;",
        "ours is Krippendorff's, as in irrCAC."))
