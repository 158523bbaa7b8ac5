# Rscript tests/outside/psych/make.R
source("tests/outside/write_vectors.R")
suppressMessages(library(psych))
tables <- list(
  rbind(c(31, 6, 1), c(9, 22, 7), c(2, 5, 17)),
  rbind(c(12, 3, 0, 1), c(4, 9, 2, 0), c(1, 5, 14, 3), c(0, 0, 6, 20)),
  rbind(c(80, 4), c(7, 9)),
  rbind(c(3, 0, 0), c(1, 2, 0), c(0, 0, 4)))
for (table in tables) {
  as_rows <- lapply(seq_len(nrow(table)), function(k) table[k, ])
  # its weights are quadratic
  theirs <- suppressWarnings(cohen.kappa(table))
  add("rater_table.value", list(table = as_rows, method = "cohen"), theirs$kappa)
  add("rater_table.value", list(table = as_rows, method = "cohen", weights = "quadratic"),
      theirs$weighted.kappa)
}
write_vectors(
  "psych", "Revelle; cohen.kappa; counts of ours",
  "Cohen's kappa, plain and with quadratic weights, of four tables", list())
