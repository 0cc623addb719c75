"""The only place that may import torch: it runs in a process of its own. Nothing of the lint path imports it."""
