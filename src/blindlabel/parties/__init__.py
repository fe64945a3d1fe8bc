"""The parties as they run: each joins the rules (`protocol`) with a store, an engine and its keys. Messages come and go
as bytes; how they travel is the business of `transport`.
"""
