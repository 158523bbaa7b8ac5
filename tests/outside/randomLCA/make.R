# Rscript tests/outside/randomLCA/make.R
source("tests/outside/write_vectors.R")
suppressMessages(library(randomLCA))
# with a thousand times as many cases a posterior is as narrow as the estimates of a
# maximum of the likelihood, and has their values
times <- 1000
data <- list()
for (name in c("dentistry", "myocardial", "hivtests")) {
  patterns <- get(data(list = name, package = "randomLCA"))
  tests <- ncol(patterns) - 1
  votes <- as.matrix(patterns[seq_len(tests)])
  fit <- randomLCA(patterns[seq_len(tests)], freq = times * patterns$freq, nclass = 2,
                   cores = 1, seed = 1, penalty = 0, EMtol = 1e-10)
  sick <- which.max(rowMeans(fit$outcomep))
  data[[paste0(name, "_votes")]] <- lapply(seq_len(nrow(votes)), function(i) as.list(unname(votes[i, ])))
  data[[paste0(name, "_cases")]] <- times * patterns$freq
  inputs <- list(votes = paste0("$", name, "_votes"), cases = paste0("$", name, "_cases"))
  add("latent_class.prevalence", inputs, fit$classp[sick], 3)
  for (test in seq_len(tests)) {
    add(paste0("latent_class.sensitivity_", test), inputs, fit$outcomep[sick, test], 3)
    add(paste0("latent_class.specificity_", test), inputs, 1 - fit$outcomep[3 - sick, test], 3)
  }
}
write_vectors(
  "randomLCA", "Beath (2017), doi:10.18637/jss.v081.i13; its data dentistry, myocardial, hivtests, 1,000 times as many cases",
  "Latent classes with independent errors: prevalence, sensitivity, specificity of each test", data,
  "latent_class is a posterior: of few cases it lies away from 0 and 1, where a maximum of the likelihood may lie.")
