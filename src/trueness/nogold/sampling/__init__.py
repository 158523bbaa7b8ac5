"""How are draws from the posterior of a latent class model made, and trusted?

``strategy`` chooses among three ways and goes on until there are as many effective
draws as were asked for:

``enumeration``
    the exact posterior of a small table, a finite mixture of Beta distributions;
``tempering`` then ``importance``
    particles move from the prior to the posterior and show where it is; a proposal is
    fitted to them (``conjugate`` knows the shape of the latent class model,
    ``two_tests`` the surface of two tests) and its draws are weighted;
``gibbs``
    the chain of the paper, on patterns, as a check and as a fallback.

``walkers``
    Metropolis chains from particles, where a model with dependence needs them.

``chains`` judges the draws, ``ordered_betas`` draws pairs under the order constraint,
``products`` multiplies thin matrices without threads. Read ``strategy``, ``tempering``,
``importance``, ``conjugate`` in this order. The maths is in ``docs/maths/nogold.md``,
section "How it is computed".
"""
