# Rscript tests/outside/rms/make.R
source("tests/outside/write_vectors.R")
suppressMessages(library(rms))
i <- 1:200
data <- list(
  label = as.integer(((i * 37) %% 101) / 101 < plogis(-1.2 + ((i * 13) %% 41) / 12)),
  score = round(plogis(-1.8 + ((i * 13) %% 41) / 9), 6))
inputs <- list(label = "$label", score = "$score")
theirs <- val.prob(data$score, data$label, pl = FALSE)
add("auc.value", inputs, theirs["C (ROC)"])
add("brier.value", inputs, theirs["Brier"])
add("nagelkerke.value", inputs, theirs["R2"], 9)
add("calibration_line.slope", inputs, theirs["Slope"], 6)
# U is the likelihood ratio test of slope 1 and intercept 0
add("calibration_test.statistic", c(inputs, list(method = "cox")), theirs["U:Chi-sq"], 6)
add("calibration_test.p_value", c(inputs, list(method = "cox")), theirs["U:p"], 5)
z <- theirs["S:z"]
add("calibration_test.statistic", c(inputs, list(method = "spiegelhalter")), z, 9)
add("calibration_test.p_value", c(inputs, list(method = "spiegelhalter")), theirs["S:p"], 9)
# the smooth curve of Austin and Steyerberg (2019), by R's loess without interpolation
fit <- loess(label ~ score, data = data, control = loess.control(surface = "direct"))
distance <- abs(predict(fit) - data$score)
add("calibration_index.ici", inputs, mean(distance), 7)
add("calibration_index.e50", inputs, median(distance), 7)
add("calibration_index.e90", inputs, quantile(distance, 0.9), 7)
add("calibration_index.largest", inputs, max(distance), 7)
write_vectors(
  "rms", "Harrell; val.prob, and loess of R; data by formulas",
  "AUC, Brier score, Nagelkerke's R2, calibration slope, likelihood ratio test, Spiegelhalter's z, ICI, E50, E90",
  data,
  c("The intercept of val.prob is that of the line with a free slope; ours is calibration in the large, with slope 1.",
    "The smooth curve of val.prob is lowess of degree 1; calibration_index has loess of degree 2, as the paper does."))
