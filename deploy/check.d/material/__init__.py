"""What the programs in deploy/check.d share."""
