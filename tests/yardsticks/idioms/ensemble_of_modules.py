# An ensemble: the constructor is mapped over one key for each member.
import equinox as eqx
import jax
import jax.random as jr


@eqx.filter_vmap
def make_member(key):
    return eqx.nn.MLP(2, 1, 8, 1, key=key)


@eqx.filter_vmap(in_axes=(eqx.if_array(0), None))
def predict(member, x):
    return member(x)


def main():
    ensemble_key, data_key = jr.split(jr.key(0))
    ensemble = make_member(jr.split(ensemble_key, 5))
    print(predict(ensemble, jr.normal(data_key, (2,))), jax.device_count())


if __name__ == "__main__":
    main()
