"""What people see in a browser: the owner's app (`owner_server`) and the coordinator's page (`coordinator_page`).

Nothing here decides anything about a study. The owner's app reads and writes a workspace, on the owner's machine only;
the coordinator's page reads the coordinator's store. Record content reaches the browser only as text.
"""
