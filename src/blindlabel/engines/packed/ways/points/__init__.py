"""Points without help: weighted conditions, a bar and exclusions, answered with no call to anybody.

In the order to read it: `shape` (places in classes, what follows from the profile alone), `fitting` (a question is put
on places), `periodic` (plaintexts that are the same for all records), `forms` (the linear step), `tree` (the products),
`evaluating` (a group of questions over a batch of records). docs/packed-engine.md derives the algebra and the errors.
"""
