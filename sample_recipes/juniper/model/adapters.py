"""Adapters of the juniper recipe."""

from peft import LoraConfig


def attention_adapters(settings):
    """Low-rank adapters on the attention projections of the language model."""
    return LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=r".*language_model.*\.(q_proj|k_proj|v_proj|o_proj)",
    )
