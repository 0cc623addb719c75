"""The training loader of all sample recipes: packed chat samples with images."""

from mvp_engine.kit import (
    MLLMDataKit,
    MLLMDataSpec,
    MLLMLoaderSpec,
    MLLMPackingSpec,
    MLLMSampleSpec,
    MLLMSourceSpec,
    QwenVLChatSchemaHandler,
    QwenVLMediaHandler,
    QwenVLTokenizationHandler,
)


def build_chat_loader(config, parallel_mesh, device):
    """Read ``config.data`` and return a loader of packed batches for this rank."""
    kit = MLLMDataKit()
    processor = kit.build_processor(config.model.pretrained_model_name_or_path)
    spec = MLLMDataSpec(
        source=MLLMSourceSpec(
            dataset_path=config.data.train_path,
            dataset_source="lance",
            ref_columns=("images",),
            seed=config.seed,
            resample=True,
            resolve_refs=True,
        ),
        sample=MLLMSampleSpec(
            schema_handler=QwenVLChatSchemaHandler(processor=processor),
            media_handler=QwenVLMediaHandler(processor=processor),
            tokenization_handler=QwenVLTokenizationHandler(processor=processor, max_seq_len=config.data.max_seq_len),
        ),
        packing=MLLMPackingSpec(max_seq_len=config.data.max_seq_len, algorithm="multi_pack", block_causal=True),
        loader=MLLMLoaderSpec(batch_size=config.data.batch_size, num_workers=config.data.num_workers),
        distribution=kit.build_distribution_spec(parallel_mesh=parallel_mesh),
    )
    return kit.build_dataloader(kit.build_dataset(spec), spec, device=device)
