"""What is said of the importance of symbols."""

from dataclasses import dataclass

from .collisions import Collisions


@dataclass(frozen=True)
class SymbolImportance:
    """How important a symbol is.

    text (str): The symbol, or the symbols of an n-gram's tokens with blanks between them.
    freq (int): How often it occurs.
    parameters (list[float]): Its k importance parameters.
    importance (float): The mean of their absolute values. Known up to the scale of the components:
        half of it, and components twice as long, are the same vectors.
    norm (float): The Euclidean norm of its vector, the weighted components put together.
    sharing (int): The other symbols of the corpus that have its row of importance parameters.
    """

    text: str
    freq: int
    parameters: list[float]
    importance: float
    norm: float
    sharing: int


@dataclass(frozen=True)
class EmbeddingImportance:
    """What is important to an embedding.

    component (str): Name of the component that it is in.
    member (str): Number of the model in an ensemble that it is in, from 0; "" outside of ensembles.
    attr (str): Name of the attribute, or of its n-grams.
    seed (int): Hash seed of the component vectors.
    num_symbols (int): The distinct symbols of the corpus, without n-grams that a dictionary leaves
        out.
    num_sharing (int): Those that share their row of importance parameters with another.
    num_frequent (int): Those that occur at least min_freq times, to which all that follows is
        limited. Where importance is looked up, those that the table does not have are left out:
        they have one common row, of unknown symbols.
    mean_importance (float): Their mean importance.
    num_important (int): The important symbols, |T_imp| of the paper: those of at least the given
        share of the mean importance.
    collisions (Collisions): The important symbols that are in collision.
    largest, smallest (list[SymbolImportance]): The symbols of the largest and of the smallest
        importance, or norm; of equal ones the most frequent first.
    """

    component: str
    member: str
    attr: str
    seed: int
    num_symbols: int
    num_sharing: int
    num_frequent: int
    mean_importance: float
    num_important: int
    collisions: Collisions
    largest: list[SymbolImportance]
    smallest: list[SymbolImportance]
