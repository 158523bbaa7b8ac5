# Rscript tests/outside/riskRegression/make.R
source("tests/outside/write_vectors.R")
suppressMessages(library(riskRegression))
i <- 1:200
data <- list(
  label = as.integer(((i * 37) %% 101) / 101 < plogis(-1.2 + ((i * 13) %% 41) / 12)),
  first = round(plogis(-1.8 + ((i * 13) %% 41) / 9), 6),
  second = round(plogis(-1.0 + ((i * 13) %% 41) / 20 + ((i * 29) %% 17) / 17), 6))
d <- as.data.frame(data)
theirs <- Score(list(first = d$first, second = d$second), formula = label ~ 1, data = d,
                metrics = c("auc", "brier"), null.model = FALSE)
for (k in 1:2) {
  inputs <- list(label = "$label", score = c("$first", "$second")[k])
  area <- theirs$AUC$score[k]
  with_method <- c(inputs, list(method = "delong"))
  add("auc.value", with_method, area$AUC)
  add("auc.se", with_method, area$se)
  add("auc.low", with_method, area$lower)
  add("auc.high", with_method, area$upper)
  add("brier.value", inputs, theirs$Brier$score[k]$Brier)
  add("brier.se", inputs, theirs$Brier$score[k]$se)
}
inputs <- list(label = "$label", first = "$second", second = "$first", method = "delong")
contrast <- theirs$AUC$contrasts
add("compare_auc.difference", inputs, contrast$delta.AUC)
add("compare_auc.low", inputs, contrast$lower)
add("compare_auc.high", inputs, contrast$upper)
add("compare_auc.p_value", inputs, contrast$p)
# censored follow-up: inverse probability of censoring weights by Kaplan and Meier
suppressMessages(library(survival))
event_time <- 0.2 + ((i * 31) %% 97) / 9 * exp(0.4 - data$first)
censoring_time <- 0.5 + ((i * 53) %% 89) / 8
# quarters of a year, so that events and censoring are tied
data$time <- ceiling(4 * pmin(event_time, censoring_time)) / 4
data$event <- as.integer(event_time <= censoring_time)
d <- as.data.frame(data)
for (horizon in c(2, 5, 7.5)) {
  for (name in c("first", "second")) {
    theirs <- Score(list(model = d[[name]]), formula = Surv(time, event) ~ 1, data = d,
                    times = horizon, metrics = c("auc", "brier"), null.model = FALSE)
    inputs <- list(time = "$time", event = "$event", horizon = horizon, score = paste0("$", name))
    add("horizon.auc", inputs, theirs$AUC$score$AUC)
    add("horizon.brier", inputs, theirs$Brier$score$Brier)
  }
}
write_vectors(
  "riskRegression", "Gerds, Kattan (2021); Score; data by formulas",
  "AUC and Brier score with standard errors, difference of two AUCs with interval and p; both at a horizon with censoring",
  data,
  c("Its standard errors at a horizon allow for estimated censoring weights; ours treat weights as fixed."))
