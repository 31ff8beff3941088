"""Files to groups: read and check records, render them to token ids, collate them to batches."""
