# Rscript tests/outside/epiR/make.R
source("tests/outside/write_vectors.R")
suppressMessages(suppressWarnings(library(epiR)))
# cells of the 2x2 table: tp, fp, fn, tn. The first is the example of the manual
# (Scott et al. 2008), the others are small, lopsided, and with an empty cell.
tables <- list(c(670, 202, 74, 640), c(9, 3, 2, 14), c(45, 310, 5, 2140), c(30, 0, 4, 66))
names_of <- c(se = "recall", sp = "specificity", diag.ac = "accuracy", pv.pos = "precision",
              pv.neg = "npv", p.rin = "flagged_rate", p.tpdn = "fpr", p.tndp = "fnr")
ratios <- c(lr.pos = "lr_positive", lr.neg = "lr_negative", diag.or = "diagnostic_odds_ratio", youden = "youden")
for (cells in tables) {
  table <- as.table(matrix(cells, nrow = 2, byrow = TRUE))
  inputs <- list(tp = cells[1], fp = cells[2], fn = cells[3], tn = cells[4])
  for (level in c(0.9, 0.95)) {
    detail <- suppressWarnings(epi.tests(table, method = "wilson", conf.level = level)$detail)
    rownames(detail) <- detail$statistic
    for (k in names(names_of)) {
      with_metric <- c(inputs, list(metric = names_of[[k]], level = level))
      add("table.value", with_metric, detail[k, "est"])
      # epiR's intervals of p.tpdn and its kind are not named Wilson's at an empty cell
      if (min(cells) > 0) {
        add("table.low", with_metric, detail[k, "lower"])
        add("table.high", with_metric, detail[k, "upper"])
      }
    }
  }
  for (k in names(ratios)) {
    number <- detail[k, "est"]
    if (is.finite(number)) add("table.value", c(inputs, list(metric = ratios[[k]])), number)
  }
}
# Cohen's kappa and McNemar's test of two raters' yes and no
for (cells in list(c(19, 10, 6, 256), c(40, 12, 5, 43))) {
  table <- as.table(matrix(cells, nrow = 2, byrow = TRUE))
  theirs <- epi.kappa(table, method = "fleiss", alternative = "two.sided", conf.level = 0.95)
  inputs <- list(both = cells[1], only_first = cells[2], only_second = cells[3], neither = cells[4])
  add("two_raters.cohen", inputs, theirs$kappa$est)
}
write_vectors(
  "epiR", "Stevenson et al.; epi.tests, epi.kappa; the example of its manual",
  "Sensitivity to negative predictive value with Wilson's intervals, likelihood ratios, odds ratio, kappa",
  setNames(list(), character()),
  c("epiR's intervals of ratios take the normal quantile, ours Student's: ours are a little wider.",
    "epiR adds and subtracts the ends of two intervals for Youden's index; ours is Newcombe's, which is narrower.",
    "epiR's default interval is Clopper and Pearson's, ours Wilson's, its method=\"wilson\"."))
