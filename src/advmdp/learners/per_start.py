"""Start states that the adversary chooses: one iterate for each, one confidence set for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from advmdp.checks.arguments import function, instance
from advmdp.checks.numbers import shown
from advmdp.display.shown import Shown
from advmdp.errors import InvalidInput, UncertifiedStep
from advmdp.kernels.learners.interface import begin_update, solve_pending, undo_update
from advmdp.kernels.model.measure import Measure
from advmdp.kernels.model.visits import OPENS, settle
from advmdp.kernels.sets.confidence import renew_bounds, restore_bounds
from advmdp.kernels.steps.interface import forget_bounds, forget_everything
from advmdp.layout import Floats, Layout
from advmdp.layout.start_view import StartView, start_views
from advmdp.learners.feedback import FlatEpisode
from advmdp.learners.mirror.mirror_descent import MirrorDescent
from advmdp.one_thread import OneThread
from advmdp.steps.first_sets import copy_of, no_visits


class PerStart(Shown, Sequence[MirrorDescent]):
    """A mirror-descent learner for every start state; they share their visit counts.

    The paper remarks (Section 2) that its results carry over to a first layer with several states
    of which the adversary picks one in each episode, details omitted.  The form chosen here: start
    state s has its own occupancy measure q^s over what can be reached from s.  An episode from s
    moves q^s, as always.  Its visits count for all: when an epoch opens, every other measure is
    projected onto the new set, q^{s'} <- argmin over Delta(P_i) of D(q || q^{s'}), which moves it
    no further from any measure whose transition is in the set.  With one start state this is the
    learner itself.

    Regret is measured against the best policy of each start state (a policy that may remember
    where it started), hence at least as strictly as against one policy for all.  The terms that
    come from the unknown transition are those of one learner; REG adds up over start states, which
    a learning rate larger by the root of their number balances (``eta_scale``).  The sets cover
    with the probability of the sub-learners' delta, times |X| / |X^s| for states that only others
    can reach.  Memory and the cost of an epoch grow with the number of start states; where they are
    drawn from a fixed distribution, the opening layer alone will do (``advmdp.time_expand``).

    Parameters
    ----------
    layout
        Layer 0 is the opening, with one state; layer 1 holds the start states.
    make
        ``make(view)`` builds the learner of one start state on ``view.layout``; all with the same
        ``n_episodes``, the episodes from all start states together.

    >>> from advmdp.learners.feedback import Trajectory
    >>> from advmdp.learners.mirror.uob_reps import UOBREPS
    >>> layout = Layout(layer_sizes=(1, 2, 3, 1), n_actions=2)
    >>> learners = PerStart(layout, lambda view: UOBREPS(view.layout, n_episodes=100))
    >>> learners[1].update(Trajectory(states=[0, 2, 0], actions=[0, 1], losses=[1.0, 0.0]))
    >>> learners[1].policy()[0].round(4), learners[0].policy()[0]
    (array([[0.4574, 0.5426]]), array([[0.5, 0.5]]))
    >>> learners[0].visits[1][2]            # seen in an episode of the other
    array([0., 1.])

    ``advmdp.play_starts`` plays them.
    """

    def __init__(self, layout: Layout, make: Callable[[StartView], MirrorDescent]) -> None:
        function(make, "make", "make(view)")
        self.layout = layout
        self.views = start_views(layout)
        self._learners = [
            instance(make(view), MirrorDescent, "make, the learner returned") for view in self.views
        ]
        self._one_thread = OneThread("learners that share their counts")
        first = self._learners[0]
        for view, learner in zip(self.views, self._learners, strict=True):
            if learner.layout != view.layout or learner.n_episodes != first.n_episodes:
                raise InvalidInput(
                    f"make: the learner of start state {view.start} has another layout or "
                    "n_episodes; build all on view.layout with one n_episodes"
                )
        self.n_episodes = first.n_episodes
        self._share_counters()

    def _share_counters(self) -> None:
        """Counters are those of the whole layout."""
        shared = no_visits(self.layout, self.n_episodes)
        for view, learner in zip(self.views, self._learners, strict=True):
            visits = shared._replace(counter=shared.counter[view.rows], cell=shared.cell[view.rows])
            learner._state = learner._state._replace(visits=visits)
            learner._update_together = self._update

    def __len__(self) -> int:
        return len(self._learners)

    def _facts(self) -> dict[str, Any]:
        return {"starts": len(self), "learner": shown(self[0])}

    @overload
    def __getitem__(self, start: int) -> MirrorDescent: ...

    @overload
    def __getitem__(self, start: slice) -> list[MirrorDescent]: ...

    def __getitem__(self, start: int | slice) -> MirrorDescent | list[MirrorDescent]:
        return self._learners[start]

    def _update(
        self, active: MirrorDescent, episode: FlatEpisode, losses: tuple[Floats, Floats]
    ) -> None:
        """One episode of ``active``; if it opens an epoch, all move into the new set, or none."""
        with self._one_thread:
            self._move_all(active, episode, losses)

    def _move_all(
        self, active: MirrorDescent, episode: FlatEpisode, losses: tuple[Floats, Floats]
    ) -> None:
        state, path = active._state, (episode.states, episode.path)
        moves = begin_update(active._graph, state, *path, *losses)
        opens = bool(state.visits.clock[OPENS])
        touched: list[tuple[MirrorDescent, Measure]] = []
        for learner in self._learners:
            if not (moves if learner is active else opens):
                continue
            touched.append((learner, copy_of(learner._state.step.measure)))
            if learner is not active:
                _renew(learner)
            if not _solved(learner):
                self._take_back(touched, active, episode)
        settle(state.visits)

    def _take_back(
        self,
        touched: list[tuple[MirrorDescent, Measure]],
        active: MirrorDescent,
        episode: FlatEpisode,
    ) -> None:
        for learner, before in touched:
            state = learner._state
            for part, old in zip(state.step.measure, before, strict=True):
                part[...] = old
            forget_everything(state.step)  # what a step found out is about its result
            if learner is not active:
                restore_bounds(learner._graph, state.visits, state.rows, state.old_rows)
        undo_update(active._graph, active._state, episode.states, episode.path)
        raise UncertifiedStep(
            f"episode {active.episodes + 1}: no certified step; the episode was taken back: "
            "lower eta or raise gamma or log_scale"
        )


def _renew(learner: MirrorDescent) -> None:
    """The bounds of the new epoch for the rows of this learner."""
    state = learner._state
    sets = (state.visits, state.rows, state.old_rows)
    renew_bounds(learner._graph, *sets, state.settings.log_term)
    forget_bounds(learner._graph, state.step, state.rows, state.visits)


def _solved(learner: MirrorDescent) -> bool:
    """Move into the set as it is now, on the safe path if need be."""
    return any(solve_pending(learner._graph, learner._state, in_logs) for in_logs in (None, True))
