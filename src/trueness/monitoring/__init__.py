"""Is it good enough, and is it still? Contracts, verdicts and watches.

What is required, in words, in a table or in a contract?   ``requirements``,
``fields``, ``contracts``
What may be required, and what is its interval?            ``measures``, ``one_sided``
What is claimed about these data, and what of it holds?    ``claims``, ``checking``
How are verdicts shown?                                    ``verdicts``
Which cases of a batch are new?                            ``batches``
What does a batch tell, and has it changed, at any time?   ``detectors``, ``bets``
How is a watch kept in a file?                             ``states``, ``state_shapes``
What is watched, batch by batch and in every group?        ``watching``
What may be watched, and against which bound?              ``questions``
Did the distribution of the scores change (PSI)?           ``stability``

Gates: text, table, TOML --> Requirement --> Claim, with its interval by alpha -->
Verdict --> Check.
Watches: batch --> numbers that tell --> bets --> detector --> alarm, since when, how
large. Read ``verdicts`` first, for watches ``detectors``; what was measured is on the
page ``docs/maths/monitoring.md``.
"""
