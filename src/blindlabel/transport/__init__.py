"""How messages travel: over HTTP (`client`, `server`) or as files in a folder that is shared or carried by hand
(`folder`). The messages are the same; nothing here looks into them beyond their header.
"""
