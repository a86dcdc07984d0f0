"""Soft voting: several classifiers combined to one."""

from typing import Callable, Optional, Sequence

from thinc.api import Model
from thinc.types import Floats2d
from thinc.util import ArrayInfo

from ..common.nodes import ACTIVATIONS, LINEAR, SPARSE_LINEAR, is_listener
from ..common.types import Classifier, DocLike

NAME = "soft_vote"
_ROUNDING = 1e-5
_ROUNDING_OF_SUMS = 1e-3
_ADVICE = "Give it an output layer: no_output_layer = false in its section of the config."


def soft_vote(*members: Classifier) -> Classifier:
    """Average the probabilities of several classifiers, each trained as if it were alone.

    This is the ensemble of Svenstrup et al. 2017, section 5.5. The gradient that spaCy computes is
    d = mean - truth. A member with the probabilities p gets p - mean + d = p - truth. Where d is
    exactly 0, all members get 0: there the truth is missing. A soft label may be equal to the mean.
    To tell the two apart, training gives the next larger float32 in the place of each mean.

    docs -> probabilities (B, nO) float32.

    members (Classifier): Each docs -> (B, nO).

    Raises ValueError for a member without an output layer, which gives scores that may lie in
    [0, 1] by chance, and for one that gives no scores of docs. In training, it raises ValueError
    for a member whose scores are not probabilities. Where attrs["multi_label"] is false, those of
    each doc sum to 1.
    """
    for number, member in enumerate(members):
        _check_output_layer(number, member)
    dims = {"nO": members[0].maybe_get_dim("nO")}
    return Model(NAME, forward, init=init, layers=list(members), dims=dims)


def forward(model: Classifier, docs: list[DocLike], is_train: bool) -> tuple[Floats2d, Callable]:
    """Average the members' probabilities; going back, give each the gradient of its own error."""
    votes, callbacks = zip(*(member(docs, is_train) for member in model.layers), strict=True)
    _check_votes(model, votes)
    if is_train:
        _check_probabilities(model, votes)
    xp = model.ops.xp
    mean = xp.mean(xp.stack(votes), axis=0)
    if is_train:
        mean = xp.nextafter(mean, xp.full_like(mean, 2))
    mean_info = ArrayInfo.from_array(mean)

    def backprop(d_mean: Floats2d) -> list[DocLike]:
        mean_info.check_consistency(d_mean)
        for number in _order_back(model):
            callbacks[number]((votes[number] - mean + d_mean) * (d_mean != 0))
        return []

    return mean, backprop


def _order_back(model: Classifier) -> list[int]:
    """Order the members by the last listener of each in `model.walk()`, that without any first.

    spaCy lists the listeners of a tok2vec in this order. The last one sends the gradients of all of
    them on, so its member has to go back last.
    """
    places = {id(node): place for place, node in enumerate(model.walk()) if is_listener(node)}
    last = [max(places.get(id(node), -1) for node in member.walk()) for member in model.layers]
    return sorted(range(len(last)), key=last.__getitem__)


def _check_output_layer(number: int, member: Classifier) -> None:
    """Refuse a member that ends in a layer of thinc's which gives no probabilities."""
    last: Model = member
    while last.layers:
        last = last.layers[-1]
    if last.name in (LINEAR, SPARSE_LINEAR, *ACTIVATIONS):
        raise ValueError(
            f"Layer '{NAME}' averages probabilities, but its model {number} ('{member.name}') ends "
            f"in '{last.name}', and has no output layer. {_ADVICE}"
        )


def _check_votes(model: Classifier, votes: Sequence[Floats2d]) -> None:
    for number, vote in enumerate(votes):
        if isinstance(vote, list):
            raise ValueError(
                f"Layer '{model.name}' averages probabilities, but its model {number} "
                f"('{model.layers[number].name}') gives a list, an item for each document, as a "
                "tok2vec does. Give it the @architectures of a text classifier."
            )


def _check_probabilities(model: Classifier, votes: Sequence[Floats2d]) -> None:
    for number, vote in enumerate(votes):
        wrong = ""
        if not ((vote >= 0) & (vote <= 1 + _ROUNDING)).all():
            wrong = f"scores from {float(vote.min()):.3g} to {float(vote.max()):.3g}"
        elif model.attrs.get("multi_label") is False:
            sums = vote.sum(axis=1)  # (B,)
            off = sums[abs(sums - 1) > _ROUNDING_OF_SUMS]
            wrong = f"a document scores that sum to {float(off[0]):.3g}" if len(off) else ""
        if wrong:
            raise ValueError(
                f"Layer '{model.name}' averages probabilities, but its model {number} "
                f"('{model.layers[number].name}') gives {wrong}. {_ADVICE}"
            )


def init(
    model: Classifier, X: Optional[list[DocLike]] = None, Y: Optional[Floats2d] = None
) -> None:
    """Initialize the members one after the other."""
    for member in model.layers:
        member.initialize(X=X, Y=Y)
    if model.layers[0].has_dim("nO"):
        model.set_dim("nO", model.layers[0].get_dim("nO"))
