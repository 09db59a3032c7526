"""Environments of gymnax: reset, step, a rollout under scan, many side by side."""

import gymnax
import jax
import jax.numpy as jnp

STEPS, ENVS = 5, 3


def rollout(env, params, key):
    key, reset = jax.random.split(key)
    obs, state = env.reset(reset, params)

    def one(carry, key):
        obs, state = carry
        act, step = jax.random.split(key)
        action = env.action_space(params).sample(act)
        obs, state, reward, done, truncated, info = env.step(step, state, action, params)
        return (obs, state), (obs, reward, done)

    return jax.lax.scan(one, (obs, state), jax.random.split(key, STEPS))


for name in (
    "CartPole-v1",
    "Pendulum-v1",
    "Acrobot-v1",
    "MountainCar-v0",
    "Catch-bsuite",
    "DeepSea-bsuite",
    "FourRooms-misc",
    "Breakout-MinAtar",
    "SpaceInvaders-MinAtar",
    "Asterix-MinAtar",
    "Freeway-MinAtar",
    "Reacher-misc",
    "MountainCarContinuous-v0",
    "GaussianBandit-misc",
    "SimpleBandit-bsuite",
    "UmbrellaChain-bsuite",
    "MemoryChain-bsuite",
    "Swimmer-misc",
    "PointRobot-misc",
    "MetaMaze-misc",
):
    env, params = gymnax.make(name)
    last, (observations, rewards, dones) = rollout(env, params, jax.random.key(0))
    keys = jax.random.split(jax.random.key(1), ENVS)
    many, states = jax.vmap(env.reset, in_axes=(0, None))(keys, params)
