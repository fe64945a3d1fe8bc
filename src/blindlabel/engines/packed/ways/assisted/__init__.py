"""Answering with the assist: anything the language can say, by masked calls to whoever holds the secret key.

In the order to read it: `plans` (a question becomes probes and gates), `inner_products` (probes over encrypted
features), `question_layout` (where questions stand), `polynomials` and `calls` (what an assist call carries and how its
answer is used), `evaluating` (a batch and a group, step by step), `way` (all of it behind the Protocol).
"""
