import numpy as np
import pytest
import torch
from arviz_stats.base import array_stats

from credwarp.summaries import mixing


def autoregressive(chains: int, steps: int, components: int, seed: int) -> torch.Tensor:
    """Chains of very different correlation, offset and spread."""
    random = np.random.default_rng(seed)
    memory = random.uniform(-0.7, 0.98, components)
    draws = np.zeros((chains, steps, components))
    state = random.normal(size=(chains, components))
    for step in range(steps):
        state = memory * state + np.sqrt(1 - memory**2) * random.normal(size=state.shape)
        draws[:, step] = state
    shift = random.normal(size=(chains, 1, components)) * random.choice([0.0, 0.3, 3.0], components)
    return torch.from_numpy(
        (draws + shift) * random.lognormal(size=components) + random.normal(size=components)
    )


def oracle(name: str, draws: torch.Tensor, **choice: object) -> np.ndarray:
    function = getattr(array_stats, name)
    columns = np.asarray(draws).reshape(*draws.shape[:2], -1)
    values = [function(columns[..., i], chain_axis=0, draw_axis=1, **choice) for i in range(columns.shape[2])]
    return np.array(values, dtype=float).reshape(draws.shape[2:])


MEASURES = {
    "rhat": (mixing.rhat, {"method": "rank"}),
    "ess_bulk": (mixing.ess_bulk, {"method": "bulk"}),
    "ess_tail": (mixing.ess_tail, {"method": "tail", "prob": 0.05}),
    "ess_mean": (mixing.effective_size, {"method": "mean"}),
    "mcse_mean": (mixing.mean_error, {"method": "mean"}),
    "mcse_sd": (mixing.sd_error, {"method": "sd"}),
}


@pytest.mark.parametrize("shape", [(4, 200), (2, 51), (1, 100), (3, 4), (4, 5), (2, 6), (4, 7)])
@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_equals_arviz(name, shape):
    measure, choice = MEASURES[name]
    draws = autoregressive(*shape, components=40, seed=sum(shape))
    expected = oracle(name.split("_")[0], draws, **choice)
    np.testing.assert_allclose(np.asarray(measure(draws)), expected, rtol=1e-9, equal_nan=True)


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_equals_arviz_on_ties(name):
    measure, choice = MEASURES[name]
    draws = (autoregressive(4, 60, components=30, seed=7) * 2).round()
    expected = oracle(name.split("_")[0], draws, **choice)
    np.testing.assert_allclose(np.asarray(measure(draws)), expected, rtol=1e-9, equal_nan=True)


def test_components_keep_their_shape_and_do_not_know_each_other():
    draws = autoregressive(4, 30, components=24, seed=1).float()
    one_by_one = torch.stack([mixing.ess_bulk(draws[..., i]) for i in range(24)])
    together = mixing.ess_bulk(draws.reshape(4, 30, 2, 3, 4))
    assert together.shape == (2, 3, 4)
    torch.testing.assert_close(together.flatten(), one_by_one, rtol=1e-12, atol=0)


def test_slabs_of_components_change_nothing(monkeypatch):
    draws = autoregressive(4, 30, components=25, seed=1)
    whole = mixing.rhat(draws)
    monkeypatch.setattr(mixing, "SLAB", 4 * 30 * 7)
    torch.testing.assert_close(mixing.rhat(draws), whole, rtol=1e-12, atol=0)


def test_a_component_that_is_not_a_number_spoils_only_itself():
    draws = autoregressive(4, 30, components=3, seed=1)
    draws[1, 7, 1] = torch.nan
    spoiled = torch.tensor([False, True, False])
    for measure, _ in MEASURES.values():
        assert torch.equal(measure(draws).isnan(), spoiled)
    assert mixing.mixing(draws).worst == 1


def test_the_worst_component_is_the_one_whose_chains_disagree():
    draws = torch.randn(4, 100, 5, generator=torch.Generator().manual_seed(0))
    draws[0, :, 3] += 50
    found = mixing.mixing(draws)
    assert found.worst == 3
    assert found.rhat[3] > 1.5
    torch.testing.assert_close(found.ess_tail, mixing.ess_tail(draws))


def test_the_autocorrelation_time_of_an_autoregression_is_known():
    memory, steps = 0.8, 20_000
    noise = torch.randn(steps, 4, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    state, draws = noise[0], []
    for innovation in noise:
        state = memory * state + (1 - memory**2) ** 0.5 * innovation
        draws.append(state)
    time = mixing.autocorrelation_time(torch.stack(draws, dim=1))
    torch.testing.assert_close(
        time.mean(), torch.tensor((1 + memory) / (1 - memory)).double(), rtol=0.05, atol=0
    )


def test_the_error_of_a_mean_is_how_far_means_scatter():
    noise = torch.randn(500, 4, 4000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    walks = noise.cumsum(dim=0) - torch.nn.functional.pad(noise.cumsum(dim=0), (0, 0, 0, 0, 5, 0))[:500]
    draws = walks.movedim(0, 1)
    for error, statistic in ((mixing.mean_error, torch.mean), (mixing.sd_error, torch.std)):
        scatter = statistic(draws.flatten(0, 1), dim=0).std()
        rms = error(draws).square().mean().sqrt()
        assert 0.8 < float(rms / scatter) < 1.25, statistic


def test_too_few_draws_or_chains_say_nothing():
    draws = autoregressive(1, 30, components=3, seed=1)
    assert mixing.rhat(draws).isnan().all()
    assert mixing.ess_bulk(draws[:, :3]).isnan().all()
