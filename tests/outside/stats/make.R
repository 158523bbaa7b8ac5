# Rscript tests/outside/stats/make.R
source("tests/outside/write_vectors.R")
i <- 1:150
data <- list(
  label = as.integer((i * 5) %% 7 < 3),
  score = (1 + (i * 13 + (i * 5) %% 7) %% 37) / 39)
inputs <- list(label = "$label", score = "$score")
# the AUC is Wilcoxon's statistic over the number of pairs
by_class <- split(data$score, data$label)
statistic <- suppressWarnings(wilcox.test(by_class[["1"]], by_class[["0"]])$statistic)
add("auc.value", inputs, statistic / prod(lengths(by_class)))
# McNemar's exact test is the binomial test of discordant pairs
for (cells in list(c(20, 9, 2, 4), c(100, 15, 14, 60), c(50, 0, 7, 3), c(319, 78, 22, 32))) {
  pairs <- list(both = cells[1], only_first = cells[2], only_second = cells[3], neither = cells[4])
  exact <- binom.test(cells[2], cells[2] + cells[3])$p.value
  add("compare_verdicts.p_value", c(pairs, list(method = "mcnemar")), exact)
  add("compare_verdicts.difference", pairs, (cells[2] - cells[3]) / sum(cells))
  # without correction it is the score test, which is Tango's of no difference
  score <- mcnemar.test(matrix(cells, 2, byrow = TRUE), correct = FALSE)
  add("compare_verdicts.p_value", pairs, score$p.value)
}
# the sign test of head-to-head verdicts leaves out ties
for (verdicts in list(c(8, 1, 2), c(30, 45, 11), c(5, 5, 0), c(0, 7, 3))) {
  wins <- list(wins = verdicts[1], losses = verdicts[2], ties = verdicts[3])
  add("wins.p_value", wins, binom.test(verdicts[1], sum(verdicts[1:2]))$p.value)
  add("wins.win_rate", wins, (verdicts[1] + verdicts[3] / 2) / sum(verdicts))
}
# the Jeffreys test of a grade is the distribution function of a beta distribution
for (grade in list(c(5, 95, 0.02), c(0, 40, 0.05), c(31, 1969, 0.012), c(3, 3, 0.9))) {
  asked <- list(defaults = grade[1], others = grade[2], pd = grade[3])
  shapes <- grade[1:2] + 0.5
  add("jeffreys.p_value", asked, pbeta(grade[3], shapes[1], shapes[2]))
  if (grade[1] > 0) add("jeffreys.low", asked, qbeta(0.025, shapes[1], shapes[2]))
  add("jeffreys.high", asked, qbeta(0.975, shapes[1], shapes[2]))
}
# Wilson's interval is that of prop.test without correction
for (right in list(c(9, 2), c(45, 5), c(30, 0), c(0, 12))) {
  for (level in c(0.9, 0.95, 0.99)) {
    interval <- prop.test(right[1], sum(right), correct = FALSE, conf.level = level)$conf.int
    table <- list(tp = right[1], fp = 1, fn = right[2], tn = 1, metric = "recall", level = level)
    if (interval[1] > 0) add("table.low", table, interval[1])
    add("table.high", table, interval[2])
  }
}
# Cox's calibration line by logistic regression
d <- data.frame(data, logit = qlogis(data$score))
tight <- list(epsilon = 1e-14, maxit = 50)
slope <- glm(label ~ logit, binomial, d, control = tight)
intercept <- glm(label ~ 1, binomial, d, offset = logit, control = tight)
add("calibration_line.slope", inputs, coef(slope)[2], 8)
add("calibration_line.intercept", inputs, coef(intercept), 8)
saturated <- -2 * sum(log(ifelse(d$label == 1, d$score, 1 - d$score)))
add("calibration_test.statistic", c(inputs, list(method = "cox")), saturated - deviance(slope), 7)
add("log_loss.value", inputs, saturated / (2 * length(i)))
write_vectors(
  "stats", "R itself: wilcox.test, binom.test, prop.test, glm; data by formulas",
  "AUC as Wilcoxon's statistic, McNemar's, sign and Jeffreys tests, Wilson's interval, Cox's calibration line",
  data,
  c("Our default p-value of paired proportions is that of Tango's score test; McNemar's exact one is method=\"mcnemar\"."))
