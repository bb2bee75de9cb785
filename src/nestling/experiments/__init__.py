"""The experiments of the three papers as named commands: `nestling reproduce NAME`."""

from nestling.experiments import bundling, sng, two_stage
from nestling.experiments.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {**bundling.EXPERIMENTS, **two_stage.EXPERIMENTS, **sng.EXPERIMENTS}
