# Rscript tests/outside/Wieand/make.R wiedat2b.rda
# the data are in R's biostatUZH, and on the pages of Pepe's book
source("tests/outside/write_vectors.R")
suppressMessages(library(pROC))
load(commandArgs(TRUE)[1])
data <- list(label = wiedat2b$d, ca19_9 = wiedat2b$y1, ca125 = wiedat2b$y2)
curve <- function(name) roc(data$label, data[[name]], direction = "<", quiet = TRUE)
# the areas as Pepe (2003) prints them, and in full
for (marker in list(c("ca19_9", 0.86), c("ca125", 0.71))) {
  inputs <- list(label = "$label", score = paste0("$", marker[1]))
  add("auc.value", inputs, marker[2], 2)
  add("auc.value", inputs, auc(curve(marker[1])), 12)
  delong <- c(inputs, list(method = "delong"))
  ends <- ci.auc(curve(marker[1]), method = "delong")
  add("auc.low", delong, ends[1], 11)
  add("auc.high", delong, ends[3], 11)
  for (fpr in c(0.05, 0.2))
    add("partial_auc.value", c(inputs, list(max_fpr = fpr)),
        auc(curve(marker[1]), partial.auc = c(1, 1 - fpr)), 11)
}
test <- roc.test(curve("ca19_9"), curve("ca125"), method = "delong", paired = TRUE)
inputs <- list(label = "$label", first = "$ca19_9", second = "$ca125", method = "delong")
add("compare_auc.statistic", inputs, test$statistic, 11)
add("compare_auc.p_value", inputs, test$p.value, 9)
head <- list(
  suite = "Wieand et al.", version = "1989", licence = "published data",
  source = "Wieand et al. (1989), doi:10.1093/biomet/76.3.585; Pepe (2003); numbers by pROC",
  compared = "Two markers of pancreatic cancer: AUC, partial AUC, DeLong's interval and test",
  differs = I(character()), made_by = "make.R", data = data, vectors = vectors)
text <- toJSON(head, auto_unbox = TRUE, digits = NA, null = "null")
text <- gsub('\\{"call"', '\n  {"call"', text)
writeLines(gsub('],"', '],\n "', text, fixed = TRUE), "tests/outside/Wieand/vectors.json")
