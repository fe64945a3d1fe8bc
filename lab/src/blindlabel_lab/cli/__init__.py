"""The laboratory's commands; each is added to `blindlabel` by an entry point of the group `blindlabel.commands`."""
