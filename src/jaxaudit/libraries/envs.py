"""Rows of the environment libraries: a reset always draws from its key, a step does where the library passes one."""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.libraries.table import Table, merge, rows


def _gymnax_like(package: str) -> Table:
    """Builds the rows of a package with gymnax's interface, in which both `reset` and `step` take a key."""
    return merge(
        rows(package, "key.draw", """
            *.reset *.reset_env: key params -> (observed(), ?)
            *.step *.step_env: key state action params -> (observed(), state', [], bool[], ?)
            *.sample: key
            """, key="key"),
        rows(package, "py.call_library", """
            *.action_space *.observation_space *.state_space: params
            """, result=f"{package}.environments.spaces.Space", roles="environment.space"),
    )


ENVIRONMENTS: Mapping[str, tuple[tuple[int, ...], tuple[int, ...] | int]] = {
    "CartPole-v1": ((4,), 2),
    "Acrobot-v1": ((6,), 3),
    "Pendulum-v1": ((3,), (1,)),
    "MountainCar-v0": ((2,), 3),
    "MountainCarContinuous-v0": ((2,), (1,)),
    "Asterix-MinAtar": ((10, 10, 4), 5),
    "Breakout-MinAtar": ((10, 10, 4), 3),
    "Freeway-MinAtar": ((10, 10, 7), 3),
    "SpaceInvaders-MinAtar": ((10, 10, 6), 4),
}
"""Environments of gymnax, as they are made without options: the shape of an observation, and that of an action or how
many actions there are to choose from."""

_GYMNAX = merge(
    _gymnax_like("gymnax"),
    rows("gymnax", "py.call_library", """
        make: env_id
        """, result="(gymnax.environments.environment.Environment, gymnax.environments.environment.EnvParams)", roles="environment.make"),
    rows("gymnax.environments.spaces", "py.call_library", """
        Box: low high shape dtype
        Discrete: num_categories
        """, result="itself", roles="space"),
    # The wrappers for gym and dm_env keep a key of their own.
    rows("gymnax.wrappers", "py.random", """
        GymnaxToGymWrapper.reset GymnaxToVectorGymWrapper.reset:
        GymnaxToGymWrapper.step GymnaxToVectorGymWrapper.step: action
        """),
    rows("gymnax", "key.draw", "*.observe: key state action params", key="key"),
    rows("gymnax", "key.draw", """
        wrappers.GymnaxToDmEnvWrapper.reset: key params
        wrappers.GymnaxToDmEnvWrapper.step: key timestep action params
        """, key="key"),
)

_CRAFTAX = merge(
    _gymnax_like("craftax"),
    rows("craftax.craftax_env", "py.call_library", """
        make_craftax_env_from_name: name auto_reset
        make_craftax_env_from_params: classic symbolic auto_reset
        """, result="craftax.craftax_env.Environment"),
)

_BRAX = merge(
    rows("brax", "key.draw", "*.reset: rng", key="rng"),
    rows("brax", "py.call_library", "*.step: state action -> state'\n*.pipeline_init: q qd act ctrl"),
    rows("brax", "py.call_library", "*.pipeline_step: pipeline_state action -> pipeline_state'"),
    rows("brax.envs", "py.call_library", "get_environment: env_name", result="brax.envs.Env"),
    rows("brax.envs", "py.call_library", "create: env_name episode_length action_repeat auto_reset batch_size", result="brax.envs.Env"),
    rows("brax.envs", "py.call_library", """
        training.wrap wrappers.training.wrap: env episode_length action_repeat randomization_fn
        """, result="brax.envs.Env"),
    rows("brax.envs", "py.call_library", "register_environment: env_name env_class"),
    rows("brax.training", "key.draw", """
        acting.actor_step: env env_state policy key extra_fields
        acting.generate_unroll: env env_state policy key unroll_length extra_fields
        """, key="key"),
    rows("brax.training.replay_buffers", "key.draw", "*.init: key", key="key"),
    rows("brax.training.distribution", "key.draw", "*.sample *.sample_no_postprocessing *.entropy: parameters seed", key="seed"),
)

_JUMANJI = merge(
    rows("jumanji", "py.call_library", "make: env_id", result="jumanji.env.Environment"),
    rows("jumanji", "key.draw", "*.reset: key", key="key"),
    rows("jumanji", "py.call_library", "*.step: state action -> (state', ?)"),
)

_NAVIX = merge(
    rows("navix", "py.call_library", "make: name", result="navix.environments.Environment"),
    rows("navix", "key.draw", "*.reset: key cache\n*.sample: key", key="key"),
    rows("navix", "py.call_library", "*.step: timestep action actions_set -> timestep'"),
)

_JAXMARL = merge(
    rows("jaxmarl", "py.call_library", "make: env_id", result="jaxmarl.environments.MultiAgentEnv"),
    rows("jaxmarl", "key.draw", """
        *.reset: key
        *.step: key state actions reset_state -> (?, state', ?, ?, ?)
        *.step_env: key state actions -> (?, state', ?, ?, ?)
        *.sample: key
        """, key="key"),
    rows("jaxmarl", "py.call_library", "*.action_space *.observation_space: agent", result="jaxmarl.environments.spaces.Space"),
    rows("jaxmarl", "py.call_library", "*.get_avail_actions *.get_obs: state"),
)

_OTHERS = merge(
    rows("xminigrid", "py.call_library", "make: env_id", result="(xminigrid.environment.Environment, xminigrid.environment.EnvParams)"),
    rows("xminigrid", "key.draw", "*.reset: params key", key="key"),
    rows("xminigrid", "py.call_library", "*.step: params timestep action -> timestep'"),
    rows("pgx", "py.call_library", "make: env_id", result="pgx.Env"),
    rows("pgx", "key.draw", "*.init: key\n*.step: state action key -> state'", key="key"),
    rows("mujoco_playground.registry", "py.call_library", "load: env_name config", result="mujoco_playground.MjxEnv"),
    rows("mujoco_playground", "key.draw", "*.reset: rng", key="rng"),
    rows("mujoco_playground", "py.call_library", "*.step: state action -> state'"),
)

_DATASETS = merge(
    rows("d4rl", "py.call_library", """
        qlearning_dataset: env dataset terminate_on_end
        """, result="{observations: float32[n,o], actions: float32[n,a], next_observations: float32[n,o], rewards: float32[n], terminals: bool[n]}"),
)

ROWS = merge(_GYMNAX, _CRAFTAX, _BRAX, _JUMANJI, _NAVIX, _JAXMARL, _OTHERS, _DATASETS)
"""How environments are made, reset, stepped and asked for their spaces, and what was recorded of them."""
