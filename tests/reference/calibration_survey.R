# Reference values of clustered and weighted calibration: survey's linearised errors.
# Run: Rscript tests/reference/calibration_survey.R > tests/reference/calibration_survey.json
library(survey)
i <- 1:120
id <- (i * 7) %% 23
w <- 1 + (i * 11) %% 5
y <- as.integer((i * 5) %% 7 < 3)
p <- (1 + (i * 13) %% 37) / 39
d <- data.frame(y, p, w, id, logit = qlogis(p), brier = (p - y)^2,
                log = -log(ifelse(y == 1, p, 1 - p)))
of <- function(design) {
  free <- svyglm(y ~ logit, design, family = quasibinomial, control = list(epsilon = 1e-14, maxit = 50))
  fixed <- svyglm(y ~ 1, design, offset = logit, family = quasibinomial, control = list(epsilon = 1e-14, maxit = 50))
  b <- svymean(~brier, design); l <- svymean(~log, design)
  list(brier = c(coef(b), SE(b)), log_loss = c(coef(l), SE(l)),
       slope = c(coef(free)[2], SE(free)[2]), intercept = c(coef(fixed), SE(fixed)))
}
out <- list(
  plain = of(svydesign(~1, data = d, weights = ~1)),
  clusters = of(svydesign(~id, data = d, weights = ~1)),
  both = of(svydesign(~id, data = d, weights = ~w)))
pair <- function(k, v) sprintf('"%s": [%.15g, %.15g]', k, v[1], v[2])
part <- function(k) sprintf('  "%s": {%s}', k, paste(mapply(pair, names(out[[k]]), out[[k]]), collapse = ", "))
cat("{\n", paste(sapply(names(out), part), collapse = ",\n"), "\n}\n", sep = "")
