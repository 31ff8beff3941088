"""Adapters: what cannot be put on a model is named, with the nearest layer."""

import pytest

from groupwise.errors import ConfigError
from groupwise.models.policy import Policy
from groupwise.models.tiny import make_tiny
from groupwise.models.trained import LoraConfig

pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing.:FutureWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_tiny(tmp_path_factory.mktemp("tiny") / "model", hidden_size=16, layers=2, heads=2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rank": 0}, "model.lora.rank = 0, must be 1 or more"),
        ({"rank": 10**6}, "model.lora.rank = 1000000, must be at most 16, the model's width"),
        ({"alpha": 0.0}, "model.lora.alpha = 0.0, must be above 0"),
        ({"alpha": -1.0}, "model.lora.alpha = -1.0, must be above 0"),
        ({"target_modules": []}, "name layers, or"),
        ({"target_modules": ""}, "name layers, or"),
        ({"target_modules": ["q_proj", "k_prj"]}, "no layer of the model is 'k_prj'. Did you mean `k_proj`"),
        ({"target_modules": "q_proj"}, r"no layer of the model is 'q_proj'. For layers of this name write \[q_proj\]"),
        ({"target_modules": "["}, r"'\[' is no pattern"),
        ({"target_modules": ["mlp"]}, "target_modules = .*not supported"),
    ],
)
def test_adapters_that_cannot_be(settings, message, folder):
    with pytest.raises(ConfigError, match=message):
        Policy.load(folder, lora=LoraConfig(**{"rank": 2, **settings}))


@pytest.mark.parametrize("targets", [["q_proj"], ["self_attn.q_proj"], r".*\.q_proj"])
def test_adapters_on_the_layers_that_are_named(targets, folder):
    policy = Policy.load(folder, lora=LoraConfig(rank=2, target_modules=targets))
    trained = [name for name, p in policy.module.named_parameters() if p.requires_grad]
    assert len(trained) == 4  # A and B of each of two layers
    assert all("q_proj" in name for name in trained)
