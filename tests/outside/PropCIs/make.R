# Rscript tests/outside/PropCIs/make.R
source("tests/outside/write_vectors.R")
suppressMessages(library(PropCIs))
for (table in list(c(83, 17), c(9, 1), c(3, 57), c(250, 750))) {
  n <- sum(table)
  inputs <- list(tp = table[1], fp = 0, fn = table[2], tn = 0, metric = "recall")
  theirs <- scoreci(table[1], n, 0.95)$conf.int  # printed with four decimals
  add("table.low", inputs, theirs[1], max(2, 4 + floor(log10(theirs[1])) + 1))
  add("table.high", inputs, theirs[2], max(2, 4 + floor(log10(theirs[2])) + 1))
}
# Tango's interval: b and c, of n pairs; theirs is the second less the first
for (pairs in list(c(60, 12, 20, 28), c(30, 5, 1, 14), c(200, 40, 25, 135))) {
  inputs <- list(both = pairs[1], only_first = pairs[2], only_second = pairs[3], neither = pairs[4])
  theirs <- scoreci.mp(pairs[2], pairs[3], sum(pairs), 0.95)$conf.int
  # it stops its search at steps of 1e-7
  add("compare_verdicts.low", inputs, -theirs[2], 5)
  add("compare_verdicts.high", inputs, -theirs[1], 5)
}
write_vectors(
  "PropCIs", "Scherer; scoreci, scoreci.mp", "Wilson's interval; Tango's interval of paired proportions",
  list())
