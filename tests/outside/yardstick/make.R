# Rscript tests/outside/yardstick/make.R two_class_example.rda
# its data two_class_example, and what its README and manual print of them
source("tests/outside/write_vectors.R")
load(commandArgs(TRUE)[1])
data <- list(
  label = as.integer(two_class_example$truth == "Class1"),
  score = two_class_example$Class1,
  verdict = as.integer(two_class_example$predicted == "Class1"))
scored <- list(label = "$label", score = "$score")
judged <- list(label = "$label", score = "$verdict", threshold = 1)
add("auc.value", scored, 0.939, 3)
for (printed in list(c("accuracy", 0.838), c("kappa", 0.675)))
  add("metric.value", c(judged, list(metric = printed[1])), printed[2], 3)
head <- list(
  suite = "yardstick", version = "1.3.2", licence = "MIT",
  source = "Kuhn, Vaughan, Hvitfeldt; README, with its data two_class_example",
  compared = "AUC, accuracy and kappa of its example", differs = I(character()),
  made_by = "make.R", data = data, vectors = vectors)
text <- toJSON(head, auto_unbox = TRUE, digits = NA, null = "null")
text <- gsub('\\{"call"', '\n  {"call"', text)
writeLines(gsub('],"', '],\n "', text, fixed = TRUE), "tests/outside/yardstick/vectors.json")
