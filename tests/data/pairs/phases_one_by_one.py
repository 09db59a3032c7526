# python-list-as-array: A table of phases is made of Python numbers for each tone.
import math

import jax
import jax.numpy as jnp
import numpy as np

SAMPLES = 48_000


class Oscillator:
    def __init__(self, rate=SAMPLES):
        self.rate = rate

    def table(self, freq):
        phase = [2.0 * math.pi * freq * i / self.rate for i in range(self.rate)]
        return jnp.asarray(np.asarray(phase, np.float32))  #~ return jnp.array(phase)  #! python-list-as-array

    def render(self, freqs):
        out = jnp.zeros(self.rate)
        for f in freqs:
            out = out + jnp.sin(self.table(f))
        return out / len(freqs)


def main():
    osc = Oscillator()
    wave = osc.render([220.0, 330.0, 440.0])
    print(wave.shape, float(jnp.abs(wave).max()))


if __name__ == "__main__":
    main()
