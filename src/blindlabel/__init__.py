"""blindlabel: ground truth for entity resolution, labelled without anybody seeing both records.

The packages, from the inside out: `language` (questions and their meaning), `records` (tables and text preparation),
`engines` (how questions are answered over encrypted records), `protocol` (the rules between the parties), and outside
them `storage`, `transport`, `web` and `cli`.
"""

__version__ = "0.1.0"
