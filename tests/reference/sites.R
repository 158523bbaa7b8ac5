# Reference numbers of tests/sites: metafor, lme4 and mada, on data of metadat and mada.
# Rscript tests/reference/sites.R
# versions: metafor 3.8.1, lme4 1.1.31, mada 0.5.12, R 4.2.2
suppressMessages({library(metafor); library(lme4); library(mada)})
num <- function(x) paste0("[", paste(sprintf("%.12g", as.numeric(x)), collapse=", "), "]")
one <- function(x) sprintf("%.12g", as.numeric(x))
tight <- list(threshold=1e-14, maxiter=10000, stepadj=0.5, tau2.max=1e4)
meta <- function(name, yi, vi, mod=NULL) {
  f <- rma(yi, vi, method="REML", test="knha", control=tight)
  ci <- confint(f, control=list(tol=1e-14))
  p <- predict(f); z <- rma(yi, vi, method="DL"); h <- predict(z, pi.type="riley")
  rs <- rstudent(rma(yi, vi, method="REML", control=tight)); l <- leave1out(f)
  s <- paste0('  "', name, '": {"values": ', num(yi), ', "variances": ', num(vi),
   ',\n    "mean": ', one(f$b), ', "se": ', one(f$se), ', "mean_interval": ', num(c(f$ci.lb, f$ci.ub)),
   ',\n    "tau2": ', one(f$tau2), ', "tau2_interval": ', num(ci$random[1,2:3]), ', "i2": ', one(f$I2/100), ', "i2_interval": ', num(ci$random[3,2:3]/100),
   ',\n    "q": ', one(f$QE), ', "q_p": ', one(f$QEp),
   ',\n    "knha_prediction": ', num(c(p$pi.lb,p$pi.ub)), ', "higgins_prediction": ', num(c(h$pi.lb,h$pi.ub)),
   ',\n    "rstudent": ', num(rs$z), ', "leave_one_out": ', num(l$estimate))
  if (!is.null(mod)) {
    g <- rma(yi, vi, mods=~mod, method="REML", test="knha", control=tight)
    q <- predict(g, newmods=mean(mod))
    s <- paste0(s, ',\n    "covariate": ', num(mod), ', "coefficients": ', num(g$b), ', "coefficient_se": ', num(g$se), ', "coefficient_p": ', num(g$pval),
     ',\n    "residual_tau2": ', one(g$tau2), ', "r2": ', one(max(0, g$R2/100)), ', "f": ', one(g$QM), ', "f_p": ', one(g$QMp), ', "residual_i2": ', one(g$I2/100))
  }
  paste0(s, "}")
}
out <- c()
d <- escalc(measure="RR", ai=tpos, bi=tneg, ci=cpos, di=cneg, data=dat.bcg); out <- c(out, meta("dat.bcg", d$yi, d$vi, dat.bcg$ablat))
d <- dat.raudenbush1985; out <- c(out, meta("dat.raudenbush1985", d$yi, d$vi, d$weeks))
d <- dat.hackshaw1998; out <- c(out, meta("dat.hackshaw1998", d$yi, d$vi, d$year))
d <- dat.hart1999; d <- escalc(measure="IRR", x1i=x1i, x2i=x2i, t1i=t1i, t2i=t2i, data=d); out <- c(out, meta("dat.hart1999", d$yi, d$vi, d$year))
d <- dat.debruin2009; d <- escalc(measure="PLO", xi=xi, ni=ni, data=d); out <- c(out, meta("dat.debruin2009", d$yi, d$vi, d$scq))
d <- dat.pritz1997; d <- escalc(measure="PLO", xi=xi, ni=ni, data=d); out <- c(out, meta("dat.pritz1997", d$yi, d$vi))
writeLines(c("{", paste(out, collapse=",\n"), "}"), "tests/reference/sites.json")

bi <- function(name, d) {
  n <- nrow(d)
  long <- data.frame(study=factor(rep(1:n, each=2)), group=factor(rep(c("sens","spec"), n), levels=c("sens","spec")),
    x=as.vector(rbind(d$tp, d$tn)), m=as.vector(rbind(d$tp+d$fn, d$tn+d$fp)))
  add <- if (any(c(d$tp,d$fn,d$tn,d$fp)==0)) .5 else 0
  e <- data.frame(long, yi=log((long$x+add)/(long$m-long$x+add)), vi=1/(long$x+add)+1/(long$m-long$x+add))
  f <- rma.mv(yi, vi, mods=~group-1, random=~group|study, struct="UN", data=e, method="REML", control=list(optimizer="bobyqa", rhoend=1e-9, maxfun=100000))
  g <- glmer(cbind(x, m-x) ~ group - 1 + (group - 1 | study), data=long, family=binomial, nAGQ=1, control=glmerControl(optimizer="bobyqa", optCtrl=list(maxfun=200000, rhoend=1e-9), tolPwrss=1e-9))
  vc <- VarCorr(g)$study
  paste0('  "', name, '": {"tp": ', num(d$tp), ', "fp": ', num(d$fp), ', "fn": ', num(d$fn), ', "tn": ', num(d$tn),
   ',\n    "normal": {"mean": ', num(f$b), ', "se": ', num(f$se), ', "covariance": ', one(f$vb[1,2]), ', "between": ', num(sqrt(f$tau2)), ', "correlation": ', one(f$rho), ', "log_likelihood": ', one(logLik(f)), '},',
   '\n    "binomial": {"mean": ', num(fixef(g)), ', "se": ', num(sqrt(diag(vcov(g)))), ', "covariance": ', one(as.matrix(vcov(g))[1,2]), ', "between": ', num(attr(vc,"stddev")), ', "correlation": ', one(attr(vc,"correlation")[1,2]), ', "log_likelihood": ', one(logLik(g)), '}}')
}
k <- dat.kearon1998; k <- k[complete.cases(k[,c("tp","np","tn","nn")]),]
k <- data.frame(tp=k$tp, fn=k$np-k$tp, tn=k$tn, fp=k$nn-k$tn, patients=k$patients)
out <- c(bi("dat.kearon1998, symptomatic", k[k$patients=="symptomatic",]), bi("dat.kearon1998, asymptomatic", k[k$patients=="asymptomatic",]))
b <- dat.bcg  # no diagnostic study, but 2x2 tables with large counts
out <- c(out, bi("dat.bcg as tables", data.frame(tp=b$tpos, fn=b$cpos, tn=b$cneg, fp=b$tneg)))
out <- c(out, bi("simulated", local({set.seed(7); n1 <- rpois(14, 60)+20; n0 <- rpois(14, 90)+30; u <- rnorm(14); w <- -.5*u+sqrt(.75)*rnorm(14); tp <- rbinom(14, n1, plogis(1.5+.7*u)); tn <- rbinom(14, n0, plogis(2+.6*w)); data.frame(tp=tp, fn=n1-tp, tn=tn, fp=n0-tn)})))
reit <- function(name, d) {
  f <- mada::reitsma(d, control=list(reltol=1e-14))
  rates <- c(.05, .1, .2, .4)
  paste0('  "', name, '": {"tp": ', num(d$TP), ', "fp": ', num(d$FP), ', "fn": ', num(d$FN), ', "tn": ', num(d$TN),
   ',\n    "mada": {"mean": ', num(coef(f) * c(1, -1)), ', "se": ', num(sqrt(diag(vcov(f)))), ', "between": ', num(f$Psi),
   ', "interval_sensitivity": ', num(summary(f)$coefficients["sensitivity", 5:6]),
   ', "curve_fpr": ', num(rates), ', "curve_sensitivity": ', num(mada::sroc(f, fpr=rates)[, 2]), '}}')
}
data(AuditC, Dementia, package="mada")
out <- c(out, reit("AuditC", AuditC), reit("Dementia", Dementia))
writeLines(c("{", paste(out, collapse=",\n"), "}"), "tests/reference/sites_bivariate.json")
cat(as.character(packageVersion("metafor")), as.character(packageVersion("lme4")), "\n")
