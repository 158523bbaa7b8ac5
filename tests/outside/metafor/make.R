# Rscript tests/outside/metafor/make.R
source("tests/outside/write_vectors.R")
suppressMessages(library(metafor))
tight <- list(threshold = 1e-14, maxiter = 10000, stepadj = 0.5)
data <- list()
# Pritz (1997), de Bruin et al. (2009): events of a number of patients
studies <- list(
  pritz = list(x = dat.pritz1997$xi, n = dat.pritz1997$ni),
  debruin = list(x = dat.debruin2009$xi, n = dat.debruin2009$ni))
for (name in names(studies)) {
  x <- studies[[name]]$x; n <- studies[[name]]$n
  keep <- x > 0 & x < n  # at an end both add half a case, by other rules
  x <- x[keep]; n <- n[keep]
  data[[paste0(name, "_x")]] <- x; data[[paste0(name, "_n")]] <- n
  fit <- rma(measure = "PLO", xi = x, ni = n, method = "REML", test = "knha", control = tight)
  inputs <- list(passed = paste0("$", name, "_x"), tried = paste0("$", name, "_n"))
  add("across_sites.mean", inputs, plogis(fit$b), 8)
  add("across_sites.mean_low", inputs, plogis(fit$ci.lb), 8)
  add("across_sites.mean_high", inputs, plogis(fit$ci.ub), 8)
  add("across_sites.between", inputs, sqrt(fit$tau2), 6)
  add("across_sites.i_squared", inputs, fit$I2 / 100, 6)
  profile <- confint(fit, control = list(tol = 1e-13))$random
  add("across_sites.between_low", inputs, profile["tau", "ci.lb"], 5)
  add("across_sites.between_high", inputs, profile["tau", "ci.ub"], 5)
  prediction <- predict(fit)
  inputs$prediction <- "knapp-hartung"
  add("across_sites.prediction_low", inputs, plogis(prediction$pi.lb), 7)
  add("across_sites.prediction_high", inputs, plogis(prediction$pi.ub), 7)
}
# Kearon et al. (1998): 2x2 tables of a diagnostic test
k <- dat.kearon1998
k <- k[complete.cases(k[, c("tp", "np", "tn", "nn")]) & k$patients == "symptomatic", ]
k$fn <- k$np - k$tp; k$fp <- k$nn - k$tn
for (cell in c("tp", "fp", "fn", "tn")) data[[cell]] <- k[[cell]]
half <- if (any(k[, c("tp", "fp", "fn", "tn")] == 0)) 0.5 else 0
rows <- data.frame(
  study = factor(rep(seq_len(nrow(k)), each = 2)),
  group = factor(rep(c("sens", "spec"), nrow(k))),
  right = as.vector(rbind(k$tp, k$tn)) + half, wrong = as.vector(rbind(k$fn, k$fp)) + half)
rows$yi <- log(rows$right / rows$wrong); rows$vi <- 1 / rows$right + 1 / rows$wrong
fit <- rma.mv(yi, vi, mods = ~ group - 1, random = ~ group | study, struct = "UN", data = rows,
              method = "REML", control = list(optimizer = "bobyqa", rhoend = 1e-9, maxfun = 1e5))
inputs <- list(tp = "$tp", fp = "$fp", fn = "$fn", tn = "$tn", method = "normal")
for (j in 1:2) {
  rate <- c("sensitivity", "specificity")[j]
  add(paste0("summary_roc.", rate), inputs, plogis(fit$b[j]), 6)
  add(paste0("summary_roc.", rate, "_low"), inputs, plogis(fit$ci.lb[j]), 5)
  add(paste0("summary_roc.", rate, "_high"), inputs, plogis(fit$ci.ub[j]), 5)
}
add("summary_roc.correlation", inputs, fit$rho, 4)
write_vectors(
  "metafor", "Viechtbauer (2010), doi:10.18637/jss.v036.i03; data of metadat",
  "Random effects of proportions: mean, heterogeneity, Q-profile, prediction; bivariate model",
  data,
  c("Our default prediction interval is Nagashima's bootstrap; metafor's is prediction=\"knapp-hartung\".",
    "Half a case is added only to a study at an end; metafor lets the user choose where."))
