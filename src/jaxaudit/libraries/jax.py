"""Rows of the top level of jax: trees, devices, shardings, printing. Transformations are in a table of their own."""

from __future__ import annotations

from jaxaudit.libraries.table import merge, rows

_TREES = merge(
    rows("jax.tree", "tree.other", """
        all: tree
        structure: tree is_leaf -> jax.tree_util.PyTreeDef
        broadcast: prefix_tree full_tree is_leaf
        flatten_with_path leaves_with_path: tree is_leaf is_leaf_takes_path
        reduce: function tree initializer is_leaf
        reduce_associative: operation tree
        transpose: outer_treedef inner_treedef pytree_to_transpose
        unflatten: treedef leaves
        """),
    rows("jax.tree", "tree.other", "leaves: tree is_leaf", roles="tree.leaves"),
    rows("jax.tree", "tree.other", "flatten: tree is_leaf -> (?, jax.tree_util.PyTreeDef)", roles="tree.flatten"),
    rows("jax.tree_util", "tree.other", """
        all_leaves: iterable is_leaf
        flatten_one_level flatten_one_level_with_keys: tree
        treedef_children treedef_is_leaf: treedef
        treedef_tuple: treedefs
        """),
    rows("jax.tree_util", "py.call_library", """
        is_tree_node: typ
        keystr: keys
        register_dataclass: nodetype data_fields meta_fields drop_fields
        register_pytree_node: nodetype flatten_func unflatten_func flatten_with_keys_func
        register_pytree_node_class register_pytree_with_keys_class register_static: cls
        register_pytree_with_keys: nodetype flatten_with_keys unflatten_func flatten_func
        """),
    rows("jax.flatten_util", "array.join", "ravel_pytree: pytree -> (?, jax.flatten_util.Unravel)", holds="pytree"),
    rows("jax.flatten_util", "tree.other", "Unravel.__call__: flat", roles="tree.unravel"),
)

KERNEL = "jax.experimental.pallas.pallas_call"
REFERENCE = "jax.Ref"
"""The class of arrays that are written in place."""

_REFERENCES = merge(
    rows("jax", "py.call_library", f"new_ref: init_val -> {REFERENCE} around like init_val"),
    rows("jax.experimental.pallas", "py.call_library", """
        ds dslice: start size stride
        program_id: axis -> int32[]
        num_programs: axis -> []
        cdiv: a b
        debug_print: fmt *args
        BlockSpec: block_shape index_map pipeline_mode
        """),
    rows("jax", "py.call_library", "ShapeDtypeStruct: shape dtype -> jax.ShapeDtypeStruct around specified(shape, dtype)"),
)

_DEVICES = merge(
    rows("jax", "device.place", """
        block_until_ready copy_to_host_async: x
        device_get: x
        device_put: x device
        device_put_replicated: x devices
        device_put_sharded: shards devices
        reshard: xs out_shardings
        """),
    rows("jax", "array.create", """
        make_array_from_callback: shape sharding data_callback dtype
        make_array_from_process_local_data: sharding local_data global_shape
        make_array_from_single_device_arrays: shape sharding arrays
        """),
    rows("jax", "py.call_library", """
        clear_caches default_backend effects_barrier:
        device_count devices process_indices host_ids: backend
        process_count process_index host_count host_id: backend -> int
        ensure_compile_time_eval checking_leaks:
        disable_jit: disable
        enable_x64 debug_nans debug_infs debug_key_reuse default_device default_matmul_precision: new_val
        default_prng_impl check_tracer_leaks log_compiles numpy_dtype_promotion numpy_rank_promotion: new_val
        transfer_guard threefry_partitionable enable_custom_prng explain_cache_misses: new_val
        live_arrays: platform
        local_device_count: backend
        local_devices: process_index backend host_id
        make_mesh: axis_shapes axis_names axis_types -> jax.sharding.Mesh
        named_scope: name
        print_environment_info: return_string
        """),
    rows("jax.config", "py.call_library", "read: name\nupdate: name val\nparse_flags_with_absl:"),
    rows("jax.distributed", "py.call_library", "initialize shutdown is_initialized:"),
    rows("jax.profiler", "py.call_library", "start_trace trace: log_dir\nstop_trace:\nstart_server: port"),
    rows("jax.profiler", "py.call_library", "save_device_memory_profile: filename backend"),
    rows("jax.monitoring", "py.call_library", "record_event: event\nrecord_event_duration_secs: event duration"),
    rows("jax.experimental.checkify", "py.call_library", "check: pred msg *fmt_args\ncheck_error: error"),
    rows("jax.ad_checkpoint", "device.place", "checkpoint_name: x name"),
    rows("jax.sharding", "py.call_library", "get_abstract_mesh get_mesh:\nset_mesh use_abstract_mesh: mesh"),
    rows("jax", "py.call_library", "set_mesh: mesh", result="jax.sharding.set_mesh"),
    rows("jax.sharding", "py.call_library", """
        Mesh: devices axis_names axis_types
        NamedSharding: mesh spec
        PartitionSpec: *partitions
        """, result="itself"),
    rows("jax.experimental.multihost_utils", "collective", """
        broadcast_one_to_all: in_tree is_source
        process_allgather: in_tree tiled
        assert_equal: in_tree fail_message
        global_array_to_host_local_array: global_inputs global_mesh pspecs
        host_local_array_to_global_array: local_inputs global_mesh pspecs
        sync_global_devices: name
        """),
    rows("jax.experimental.mesh_utils", "py.call_library", """
        create_device_mesh: mesh_shape devices
        create_hybrid_device_mesh: mesh_shape dcn_mesh_shape devices
        """),
)

_SHAPES = merge(
    rows("jax", "array.shape", "typeof: x"),
    rows("jax.dtypes", "array.shape", """
        canonicalize_dtype: dtype allow_extended_dtype
        issubdtype: a b
        itemsize_bits: dtype
        result_type: *args
        scalar_type_of: x
        """),
)

# Their values go to the run-time log, not into Python while tracing.
_PRINTS = rows("jax.debug", "py.call_library", """
    breakpoint:
    inspect_array_sharding: value
    log print: fmt *args
    visualize_array_sharding: arr
    visualize_sharding: shape sharding
    """)

ROWS = merge(_TREES, _REFERENCES, _DEVICES, _SHAPES, _PRINTS)
"""The functions of jax itself that call no function of the user."""
