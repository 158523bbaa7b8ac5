"""Can a number be checked without the data? Declarations and their verification.

Which counts may be published, and at which edges?    ``private_bins``
Which numbers are stated, and what do counts say?     ``measurements``
What is claimed, and what do the counts say?          ``claims``
What does a declaration hold, and its verification?   ``records``
How is it written as JSON, and read from anyone?      ``json_format``, ``reading``
How is it made, and how is it checked?                ``declaring``, ``verification``
What does a reader see?                               ``words``, ``sections``,
                                                      ``guidelines``
As a page that verifies itself, and as Markdown?      ``page``, ``markdown``

Rows --> counts in bins of at least k --> numbers, tables, claims --> Declaration.
A file of anyone --> counts --> the same numbers again --> what follows and what does
not. Read ``private_bins`` first; ``docs/maths/declarations.md`` proves it.
"""
