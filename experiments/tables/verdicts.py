"""The verdicts on differences, and the rule that a reader needs for them."""

from typing import Optional

from experiments.tables.differences import Difference

MISSING, ONE_SEED, NOISE = "missing", "one seed", "within noise"
SAME, DIFFERS, HIGHER, LOWER = "same ordering", "differs", "higher", "lower"
MACHINES = "not comparable"
VERDICTS = (SAME, NOISE, DIFFERS, HIGHER, LOWER, ONE_SEED, MACHINES, MISSING)
RULE = """\
A difference is *within noise* if its 95 % interval holds 0. The interval reaches t standard errors
to either side. The standard error is sqrt(sd²/n + sd²/n) for two means, and sd/sqrt(n) for the
increase of an error. Student's t has the degrees of freedom of Welch's test. For an increase of an
error it is 4.3 with three seeds, and 12.7 with two. For two means of three seeds each it is 2.8 to
4.3, larger the less alike their sd.

A larger difference has the *same ordering* as the report's if both have the same sign. The same
holds if the report has a tie and ours would round to one (less than 0.01, or 1 %). Otherwise it
*differs*. Where the report has no number, the first is *higher* or *lower*. ¶ marks where the
report's difference is outside our interval. The interval is that of both differences, as Welch's
test has it, plus rounding: 0.005 or 0.5 % for each number of the report. The report's deviations
are taken as printed. Where it has none, the interval is that of ours alone, and its noise is left
out.

With 95 % intervals, about one in twenty differences that do not exist is reported as one. With *one
seed* (n = 1) we conclude nothing. CPU seconds and words per second are compared where all runs of
both sides have a record of the same CPU. Seconds are not compared if one side has our Adam and the
other thinc's, which takes more time. Otherwise they are *not comparable*.

Runs with the same seed and recognizer see the same data in the same order; another recognizer draws
other random numbers after the first epoch. The *paired* interval makes use of that. It is the mean
of the differences seed by seed, ± t sd/sqrt(n), with n - 1 degrees of freedom and at least two
seeds. A CRF has no such pairs. The verdict is that of the first interval. ‡ marks where the paired
one would decide otherwise. Prose then says *not seed by seed* of a larger difference, and *but
higher seed by seed*, or lower, of noise. Between steps after one training, the paired interval is
the one that counts: the seeds differ more than the steps. Where one side has more seeds, the paired
interval and that of sentences are of the common ones, and so have another centre.

Both intervals are about other seeds on the same test set. The one of *sentences* is about other
sentences with the same models: the sentences are drawn again 1,000 times, with replacement, and it
holds 95 % of the differences of F1 (of accuracy, for texts). § marks larger differences where it
holds 0, and prose says *not over sentences*. This interval needs counts for each sentence. Results
without a record (†) lack them, and some older results lack them for unseen entities or noise. Under
noise, the interval is of the F1 of all draws together. The mean is the average of the F1 of each
draw. Sentences of one document are drawn on their own. So the interval may be too narrow where
documents have many, as on conll-nl.

Means, sd (ddof 1) and n are over seeds. A CRF comes out the same with every seed, so the sd of its
scores is 0. Its times are of one run. ◊ at n says that a module which may decide scores has changed
between the seeds, be it a comment of it. Lines of one table may differ in their code as well.
Missing runs are not filled in, and comparisons that lack one are only counted. The report's n is 3,
and its numbers have two decimals. Its static vectors are spaCy's large ones; ours are named beside
the data set. turku-one is another data set than the report's OntoNotes, and never compared with it.
"""


def verdict(ours: Optional[Difference], report: Optional[Difference], tie: float) -> str:
    """Return the verdict on our difference, as `RULE` defines it.

    ours, report (Optional[Difference]): The differences, or None where a number is missing.
    tie (float): The unit of the last digit that the report prints.
    """
    if ours is None:
        return MISSING
    if ours.margin is None:
        return ONE_SEED
    if abs(ours.value) <= ours.margin:
        return NOISE
    if report is None:
        return HIGHER if ours.value > 0 else LOWER
    if abs(report.value) < tie / 2:  # zero, up to the rounding of floats
        return SAME if abs(ours.value) < tie else DIFFERS
    return SAME if ours.value * report.value > 0 else DIFFERS
