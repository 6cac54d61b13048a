"""From a pair and a plan to a run: the stages in order, each of them found again where it was kept."""

from credwarp.errors import InputError, PlanError
from credwarp.plan import Cosine, Plan
from credwarp.register.approximate import approximate
from credwarp.register.drawing import draw_chains, draw_law, keep_optimum
from credwarp.register.predict import predict
from credwarp.register.run import Run
from credwarp.register.seek import Sought, seek
from credwarp.register.stages import Keeper, Memory, Watch, unwatched
from credwarp.register.targets import from_tensors
from credwarp.register.warm import Warmed, warm_up
from credwarp.samplers import Evidence, Structured, Underdamped
from credwarp.space import Pair
from credwarp.transforms import DenseSvf

STAGES = ("prediction", "optimum", "approximation", "warmup", "draws")


def register(pair: Pair, plan: Plan, keeper: Keeper | None = None, watch: Watch = unwatched) -> Run:
    """The posterior over warps of the pair; what `keeper` already has is not done again."""
    refuse_contradictions(plan)
    keeper = Memory() if keeper is None else keeper
    if plan.method == "mcmc":
        draw_chains(pair, plan, warmed(pair, plan, keeper, watch), keeper, watch)
    elif plan.method == "amortised":
        predicted = predict(pair, plan, keeper, watch)
        draw_law(pair, plan, predicted.target, predicted.law, keeper, watch)
    else:
        sought = _sought(pair, plan, keeper, watch)
        if plan.method == "map":
            keep_optimum(pair, plan, sought.target, sought.optima[:1], keeper)
        else:
            near = approximate(pair, plan, sought, keeper, watch)
            draw_law(pair, plan, near.target, near.law, keeper, watch)
    return reopen(pair, plan, keeper)


def warmed(pair: Pair, plan: Plan, keeper: Keeper, watch: Watch = unwatched) -> Warmed:
    """Chains ready to be drawn from: every stage before the draws, done before or now."""
    sought = _sought(pair, plan, keeper, watch)
    near = approximate(pair, plan, sought, keeper, watch)
    return warm_up(pair, plan, sought, near, keeper, watch)


def reopen(pair: Pair, plan: Plan, keeper: Keeper) -> Run:
    """The run that `keeper` has, as far as it has got."""
    kept = {stage: found for stage in STAGES if (found := keeper.load(stage)) is not None}
    if "draws" not in kept:
        raise InputError("the run has no draws yet; let it go on with `credwarp resume`.")
    last = [found for stage, found in kept.items() if stage != "draws"][-1]
    target = from_tensors(pair, plan, last.tensors)
    facts = {stage: dict(found.facts) for stage, found in kept.items()}
    return Run(pair, plan, target.posterior.transform, keeper.draws(), target.hyper, keeper.series(), facts)


def refuse_contradictions(plan: Plan) -> None:
    """Choices that are each right and do not go together."""
    cosine = isinstance(plan.coordinates, Cosine)
    if plan.needs_network and not (cosine and isinstance(plan.transform, DenseSvf)):
        raise PlanError(
            "a network predicts velocities at voxels, for transform.kind dense in coordinates.kind cosine; "
            f"the plan has {plan.transform.kind} in {plan.coordinates.kind} ones."
        )
    if plan.method == "amortised":
        return
    if isinstance(plan.variational, Structured) and not cosine and plan.method != "map":
        raise PlanError(
            "variational.kind structured needs coordinates.kind cosine; choose that, or the paper's "
            "variational.kind=diagonal_low_rank."
        )
    if isinstance(plan.sampler, Underdamped) and not cosine and plan.method == "mcmc":
        raise PlanError(
            "sampler.kind underdamped needs coordinates.kind cosine; choose that, or the paper's "
            "sampler.kind=sgld."
        )
    if isinstance(plan.hyper, Evidence) and not (cosine and plan.prior.kind in ("sobolev", "gaussian")):
        raise PlanError(
            "hyper.kind evidence finds the strength of a sobolev or gaussian prior in cosine coordinates; "
            f"the plan has {plan.prior.kind} in {plan.coordinates.kind} ones."
        )


def _sought(pair: Pair, plan: Plan, keeper: Keeper, watch: Watch) -> Sought:
    """The search, from what a network predicts if the plan has one to start from."""
    predicted = predict(pair, plan, keeper, watch) if plan.needs_network else None
    return seek(pair, plan, predicted, keeper, watch)
