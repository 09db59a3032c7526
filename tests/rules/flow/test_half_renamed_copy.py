"""The rule `half-renamed-copy` on further programs."""

import pytest
from rules.programs import marked, said

LEFT = {
    "a network that belongs to the other state": """
        def states(actor, critic, actor_params, critic_params, make):
            actor_state = make(apply_fn=actor.apply, params=actor_params)
            critic_state = make(apply_fn=actor.apply, params=critic_params)  #? half-renamed-copy
            return actor_state, critic_state
    """,
    "functions that stand side by side": """
        def losses(batch, left_net, right_net, left_w, right_w):
            def left_loss(left_w, left_bias):
                return jnp.mean((left_net(left_w, left_bias) - batch) ** 2)

            def right_loss(right_w, right_bias):
                return jnp.mean((left_net(right_w, right_bias) - batch) ** 2)  #? half-renamed-copy

            return left_loss(left_w, 1.0), right_loss(right_w, 1.0), right_net
    """,
    "with other lines between": """
        def step(pos_x, pos_y, vel_x, vel_y, dt):
            next_pos_x = pos_x + dt * vel_x
            energy = 0.5 * (vel_x**2 + vel_y**2)
            next_pos_y = pos_y + dt * vel_x  #? half-renamed-copy
            return next_pos_x, next_pos_y, energy
    """,
    "the state of the other one, where the line binds its own": """
        def body(tx, carry, grads_actor, grads_critic):
            actor_state, critic_state = carry
            to_actor, actor_state = tx.update(grads_actor, actor_state)
            to_critic, critic_state = tx.update(grads_critic, actor_state)  #? half-renamed-copy
            return to_actor, to_critic, (actor_state, critic_state)
    """,
}
ALIKE = {
    "a second one that is made of the first": """
        def net(layer1, layer2, act1, act2, x1):
            x1 = act1(layer1(x1))
            x2 = act2(layer2(x1))
            return x1 + x2
    """,
    "a variable that each line binds for itself": """
        def directions(s_steps, t_steps, s_size, t_size):
            s_scaled = jax.tree.map(lambda s: s / (1e-8 + s_size), s_steps)
            t_scaled = jax.tree.map(lambda s: s / (1e-8 + t_size), t_steps)
            s_list = [s / (1e-8 + s_size) for s in s_steps]
            t_list = [s / (1e-8 + t_size) for s in t_steps]
            return s_scaled, t_scaled, s_list, t_list
    """,
    "the other one is read as well": """
        def mix(enc_x, dec_x, attend, enc_w, dec_w):
            enc_out = attend(enc_w, enc_x, enc_x, enc_x)
            dec_out = attend(dec_w, dec_x, enc_x, dec_x)
            return enc_out, dec_out
    """,
    "another function of the same library": """
        def smooth(lib, a_4, a_5, b_4, b_5, lib_x):
            c_4 = lib.f4(a_4, b_4, lib_x, 1.0)
            c_5 = lib.f4(a_5, b_5, lib_x, 1.0)
            return c_4, c_5, lib.f5
    """,
    "two words change": """
        def bounds(ub, lb, rest_ub, rest_lb, t):
            ub = jnp.minimum(ub, jnp.floor(rest_ub / t))
            lb = jnp.maximum(lb, jnp.ceil(rest_ub / t))
            return lb, ub, rest_lb
    """,
    "ends of a slice": """
        def cut(carry_tree, xs_tree, build, out, carry, xs):
            carry_out = build(carry_tree, out[: len(carry)])
            xs_out = build(xs_tree, out[len(carry) :])
            return carry_out, xs_out, xs
    """,
}


@pytest.mark.parametrize("code", [*LEFT.values(), *ALIKE.values()], ids=[*LEFT, *ALIKE])
def test_what_is_said_of_copies(code: str) -> None:
    assert [one for one in said(code) if one[1] == "half-renamed-copy"] == marked(code)
