# Rscript tests/outside/ratesci/make.R
source("tests/outside/write_vectors.R")
suppressMessages(library(ratesci))
for (counts in list(c(56, 70, 48, 80), c(9, 10, 3, 10), c(5, 200, 17, 400), c(290, 300, 240, 300))) {
  inputs <- list(first = counts[1:2], second = counts[3:4])
  for (contrast in c("RD", "RR")) {
    theirs <- moverci(counts[1], counts[2], counts[3], counts[4], contrast = contrast, type = "wilson")$estimates
    answer <- if (contrast == "RD") "difference" else "ratio"
    add(paste0("two_groups.", answer), inputs, theirs[1, "est"], 12)
    add(paste0("two_groups.", answer, "_low"), inputs, theirs[1, "lower"], 10)
    add(paste0("two_groups.", answer, "_high"), inputs, theirs[1, "upper"], 10)
  }
}
for (pairs in list(c(60, 12, 20, 28), c(30, 5, 1, 14), c(200, 40, 25, 135))) {
  inputs <- list(both = pairs[1], only_first = pairs[2], only_second = pairs[3], neither = pairs[4])
  # Tango's score interval, without its corrections for bias and skewness
  theirs <- suppressWarnings(
    scorepairci(x = pairs, contrast = "RD", bcf = FALSE, skew = FALSE, precis = 10)$estimates)
  add("compare_verdicts.difference", inputs, theirs[1, "est"], 9)
  add("compare_verdicts.low", inputs, theirs[1, "lower"], 8)
  add("compare_verdicts.high", inputs, theirs[1, "upper"], 8)
}
write_vectors(
  "ratesci", "Laud (2017), doi:10.1002/pst.1813; moverci, scorepairci",
  "Difference and ratio of two proportions from Wilson's intervals; Tango's paired interval", list(),
  "ratesci corrects score intervals for skewness by default; ours are as published.")
