"""What the public names of `blindlabel` do. Import them from `blindlabel`: where they stand in here may change."""
