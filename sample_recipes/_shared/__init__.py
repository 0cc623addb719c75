"""What the sample recipes share: the data side, which is not their subject."""
