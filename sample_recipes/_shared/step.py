"""One forward pass over a packed batch, for all sample recipes."""

import torch

BOOKKEEPING = frozenset({"pack_segment_ids", "total_tokens", "effective_tokens"})


def token_mean_loss(model, batch, dtype):
    """Loss per supervised token; the token-loss patch makes the model return one loss a token."""
    inputs = {key: value for key, value in batch.items() if key not in BOOKKEEPING}
    device_type = batch["input_ids"].device.type
    with torch.autocast(device_type=device_type, dtype=dtype, enabled=dtype != torch.float32):
        loss = model(**inputs).loss
    return loss.sum() / max(int(batch["effective_tokens"]), 1)
