# Rscript tests/outside/survey/make.R
source("tests/outside/write_vectors.R")
suppressMessages(library(survey))
# by formulas, so that no random numbers are needed
i <- 1:120
data <- list(
  label = as.integer((i * 5) %% 7 < 3),
  score = (1 + (i * 13) %% 37) / 39,
  weight = 1 + (i * 11) %% 5,
  cluster = (i * 7) %% 23)
d <- as.data.frame(data)
d$one <- 1
d$square <- (d$score - d$label)^2
d$log <- -log(ifelse(d$label == 1, d$score, 1 - d$score))
d$logit <- qlogis(d$score)
d$flag <- as.integer(d$score >= 0.5)
d$tp <- d$label * d$flag
d$right <- as.integer(d$flag == d$label)
designs <- list(
  plain = svydesign(ids = ~1, weights = ~one, data = d),
  clusters = svydesign(ids = ~cluster, weights = ~one, data = d),
  both = svydesign(ids = ~cluster, weights = ~weight, data = d))
options_of <- list(
  plain = list(), clusters = list(cluster = "$cluster"),
  both = list(weight = "$weight", cluster = "$cluster"))
tight <- list(epsilon = 1e-14, maxit = 50)
for (name in names(designs)) {
  design <- designs[[name]]
  inputs <- c(list(label = "$label", score = "$score"), options_of[[name]])
  brier <- svymean(~square, design)
  add("brier.value", inputs, coef(brier))
  log_loss <- svymean(~log, design)
  add("log_loss.value", inputs, coef(log_loss))
  slope <- svyglm(label ~ logit, design, family = quasibinomial, control = tight)
  intercept <- svyglm(label ~ 1, design, offset = logit, family = quasibinomial, control = tight)
  add("calibration_line.slope", inputs, coef(slope)[2], 8)
  add("calibration_line.intercept", inputs, coef(intercept), 8)
  if (name == "plain") {
    add("brier.se", inputs, SE(brier))
    add("log_loss.se", inputs, SE(log_loss))
  } else {
    # each cluster is left out in turn; mse: around the value of all clusters
    replicates <- as.svrepdesign(design, type = "JK1", mse = TRUE, compress = FALSE)
    add("brier.se", inputs, SE(svymean(~square, replicates)), 9)
    add("log_loss.se", inputs, SE(svymean(~log, replicates)), 9)
    # of fits these are linearised
    add("calibration_line.slope_se", inputs, SE(slope)[2], 3)
    add("calibration_line.intercept_se", inputs, SE(intercept), 3)
  }
  at_half <- function(metric) c(inputs, list(metric = metric, threshold = 0.5))
  add("metric.value", at_half("accuracy"), coef(svymean(~right, design)))
  add("metric.value", at_half("precision"), coef(svyratio(~tp, ~flag, design)))
  add("metric.value", at_half("recall"), coef(svyratio(~tp, ~label, design)))
  add("metric.value", at_half("f1"), coef(svycontrast(svytotal(~ tp + flag + label, design), quote(2 * tp / (flag + label)))))
}
write_vectors(
  "survey", "Lumley (2004), doi:10.18637/jss.v009.i08; data by formulas",
  "Weights and clusters: Brier score, log loss, calibration line, metrics, standard errors",
  data,
  c("Standard errors of the calibration line leave each cluster out; those of survey are linearised. They differ by 0.1 %."))
