"""Calls that take a model and leave it as it is: they are resolved and are no step of the protocol."""

from __future__ import annotations

# Builtins that read, and helpers of the libraries that read, save or clip.
READING_FUNCTIONS = frozenset(
    (
        *("len", "isinstance", "issubclass", "hasattr", "id", "type", "print", "repr", "sum", "min", "max", "sorted"),
        *("any", "all", "hash", "callable", "next", "iter", "vars", "dir", "int", "float", "str", "bool", "abs"),
        *("round", "range", "set", "frozenset", "dict", "summary", "get_parameter_dtype", "unwrap_model"),
        *("calculate_model_size", "count_parameters", "has_dtensor_parameters", "load_checkpoint", "save_checkpoint"),
        *("accumulate_gradients", "clip_grad_norm_", "rescale_gradients"),
    )
)

# Packages whose functions read values and never change a model.
IGNORED_ROOTS = frozenset(
    ("logging", "warnings", "json", "math", "os", "re", "sys", "time", "pathlib", "random", "numpy", "typing", "wandb")
)

# Methods that return the model itself, in the same state as far as the protocol goes.
TRANSPARENT_METHODS = frozenset(
    (
        *("to", "cuda", "cpu", "npu", "xpu", "train", "eval", "half", "float", "bfloat16", "double", "type"),
        *("to_empty", "init_weights", "post_init", "tie_weights", "share_memory"),
    )
)

# Methods that read from a model, or change what the protocol does not speak of.
READING_METHODS = frozenset(
    (
        *("state_dict", "load_state_dict", "buffers", "named_buffers", "get_parameter", "get_submodule", "get_buffer"),
        *("zero_grad", "num_parameters", "get_memory_footprint", "print_trainable_parameters", "generate", "dim"),
        *("get_nb_trainable_parameters", "enable_input_require_grads", "disable_input_require_grads", "size"),
        *("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook", "register_buffer"),
        *("gradient_checkpointing_disable", "get_output_embeddings", "set_attn_implementation", "save_pretrained"),
        *(
            "push_to_hub",
            "register_comm_hook",
            "no_sync",
            "extra_repr",
            "resize_token_embeddings",
            "numel",
            "element_size",
        ),
    )
)
