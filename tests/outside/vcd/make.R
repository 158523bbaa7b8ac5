# Rscript tests/outside/vcd/make.R
source("tests/outside/write_vectors.R")
suppressMessages(library(vcd))
data("SexualFun", "MSPatients", package = "vcd")
tables <- list(matrix(c(40, 9, 12, 60), 2, byrow = TRUE), unclass(SexualFun), unclass(MSPatients[, , 1]))
for (table in tables) {
  counts <- unname(apply(table, 1, as.list))
  counts <- lapply(seq_len(nrow(table)), function(i) as.list(unname(table[i, ])))
  plain <- Kappa(table)
  add("rater_table.value", list(table = counts, method = "cohen"), plain$Unweighted["value"], 11)
  add("rater_table.value", list(table = counts, method = "cohen", weights = "linear"), plain$Weighted["value"], 11)
  squared <- Kappa(table, weights = "Fleiss-Cohen")
  add("rater_table.value", list(table = counts, method = "cohen", weights = "quadratic"), squared$Weighted["value"], 11)
}
for (cells in list(c(40, 9, 12, 60), c(5, 2, 1, 90))) {
  inputs <- list(tp = cells[1], fp = cells[2], fn = cells[3], tn = cells[4])
  table <- matrix(cells, 2, byrow = TRUE)
  add("table.value", c(inputs, list(metric = "diagnostic_odds_ratio")), exp(loddsratio(table)$coefficients), 11)
  add("table.value", c(inputs, list(metric = "mcc")), assocstats(table)$phi, 11)
  add("table.value", c(inputs, list(metric = "kappa")), Kappa(table)$Unweighted["value"], 11)
}
write_vectors(
  "vcd", "Meyer, Zeileis, Hornik (2006), doi:10.18637/jss.v017.i03; its data SexualFun and MSPatients",
  "Kappa, plain and weighted; odds ratio, phi", list())
