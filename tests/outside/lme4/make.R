# Rscript tests/outside/lme4/make.R
source("tests/outside/write_vectors.R")
suppressMessages({library(lme4); library(metadat)})
k <- dat.kearon1998
k <- k[complete.cases(k[, c("tp", "np", "tn", "nn")]), ]
k$fn <- k$np - k$tp
k$fp <- k$nn - k$tn
data <- list()
for (patients in c("symptomatic", "asymptomatic")) {
  d <- k[k$patients == patients, ]
  column <- function(cell) paste(patients, cell, sep = "_")
  for (cell in c("tp", "fp", "fn", "tn")) data[[column(cell)]] <- d[[cell]]
  rows <- data.frame(
    study = factor(rep(seq_len(nrow(d)), each = 2)),
    group = factor(rep(c("sens", "spec"), nrow(d))),
    right = as.vector(rbind(d$tp, d$tn)), wrong = as.vector(rbind(d$fn, d$fp)))
  fit <- glmer(cbind(right, wrong) ~ group - 1 + (group - 1 | study), data = rows, family = binomial,
               control = glmerControl(optimizer = "bobyqa", optCtrl = list(maxfun = 2e5, rhoend = 1e-9), tolPwrss = 1e-9))
  inputs <- list(tp = paste0("$", column("tp")), fp = paste0("$", column("fp")),
                 fn = paste0("$", column("fn")), tn = paste0("$", column("tn")), method = "binomial")
  add("summary_roc.sensitivity", inputs, plogis(fixef(fit)[1]), 4)
  add("summary_roc.specificity", inputs, plogis(fixef(fit)[2]), 4)
}
write_vectors(
  "lme4", "Bates et al. (2015), doi:10.18637/jss.v067.i01; glmer; data of metadat",
  "Summary sensitivity and specificity of the binomial bivariate model", data)
