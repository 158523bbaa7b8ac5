# Rscript tests/outside/MRMCaov/make.R
source("tests/outside/write_vectors.R")
suppressMessages(library(MRMCaov))
# one treatment has the first name in our order; of Van Dyke's readings, which Trueness
# brings along with names in place of numbers, it is the second one here
studies <- list(
  list(data = VanDyke, inputs = list(), sign = -1),
  list(data = Franken, sign = 1, inputs = list(data = list(
    reader = "$reader", treatment = "$treatment", case = "$case", truth = "$truth", rating = "$rating"))))
covariances <- list(jackknife = jackknife, delong = DeLong, unbiased = unbiased)
add_study <- function(study, options, estimate) {
  theirs <- summary(estimate)
  inputs <- c(study$inputs, options)
  ends <- study$sign * unlist(theirs$test_diffs[1, grep("^CI", names(theirs$test_diffs))])
  add("reader_study.p_value", inputs, theirs$test_equality[["p-value"]], 9)
  add("reader_study.low", inputs, min(ends), 8)
  add("reader_study.high", inputs, max(ends), 8)
  add("reader_study.statistic_of_all", inputs, theirs$test_equality[[intersect(c("F", "X2"), names(theirs$test_equality))]], 9)
}
for (study in studies) {
  readings <- study$data
  for (name in names(covariances)) {
    fun <- covariances[[name]]
    add_study(study, list(covariance = name), mrmc(
      empirical_auc(truth, rating), treatment, reader, case, data = readings, cov = fun))
  }
  add_study(study, list(fixed = "readers"), mrmc(
    empirical_auc(truth, rating), treatment, fixed(reader), case, data = readings))
  add_study(study, list(fixed = "cases"), mrmc(
    empirical_auc(truth, rating), treatment, reader, fixed(case), data = readings))
  verdicts <- readings
  verdicts$verdict <- as.integer(verdicts$rating >= 3)
  add_study(study, list(metric = "recall", threshold = 3), mrmc(
    binary_sens(truth, verdict), treatment, reader, case, data = verdicts))
  add_study(study, list(metric = "specificity", threshold = 3), mrmc(
    binary_spec(truth, verdict), treatment, reader, case, data = verdicts))
}
write_vectors(
  "MRMCaov", "Smith, Hillis (2020), doi:10.1117/12.2549075; readings of Van Dyke et al. and of Franken et al.",
  "Reader studies: F or chi-squared, p-values, intervals; random, fixed readers or cases; AUC, recall, specificity",
  as.list(Franken[c("reader", "treatment", "case", "truth", "rating")]),
  'Where treatments share cases unevenly, each pair has its own variance; that of MRMCaov is pair_variance="pooled".')
