"""When the calls of a run happened, on one line of time without the pauses between its executions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ez_ptc.view.markup import element, markup_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ez_ptc.view.runs import CallView, ProgramSpan

__all__ = ["Bar", "Timeline", "draw_bar", "draw_overview", "duration_text"]

_MAX_LANES: Final = 24
_LANE_HEIGHT: Final = 9
# Percent of the width: narrower bars are invisible.
_MIN_WIDTH: Final = 0.25
_MILLISECONDS: Final = 1000
_MINUTE: Final = 60


class Bar(NamedTuple):
    """The beginning and the end of a call on the line of time, in percent of it."""

    start: float
    end: float


class Timeline:
    """Times of a run as percentages of the time in which its calls were made.

    `total` are the seconds of its executions, and `seconds` those of this line of time.
    """

    def __init__(self, spans: Iterable[ProgramSpan], calls: Sequence[CallView], now: float) -> None:
        """Begin with the executions; `now` ends the one that goes on."""
        self._spans: list[tuple[float, float, float]] = []
        self.total = 0.0
        elapsed = 0.0
        for span in spans:
            end = max(span.ended or now, span.started)
            self.total += end - span.started
            inside = [call for call in calls if call.started is not None and span.started <= call.started <= end]
            if not inside:
                continue
            # Between its first call and its last one: the rest of an execution has nothing to draw.
            first = min(call.started or end for call in inside)
            last = min(max(call.ended or end for call in inside), end)
            self._spans.append((first, last, elapsed))
            elapsed += last - first
        self.seconds: Final = elapsed

    def bar_of(self, call: CallView) -> Bar | None:
        """Return the bar of a call that has begun, or None."""
        if call.started is None or not self.seconds:
            return None
        start = self._percent(call.started)
        end = 100.0
        if call.ended is not None:
            end = self._percent(call.ended)
        return Bar(start, max(end, start))

    def breaks(self) -> list[float]:
        """Return where an execution ended and the next one began, in percent."""
        return [before / self.seconds * 100 for _, _, before in self._spans[1:] if self.seconds]

    def _percent(self, moment: float) -> float:
        for start, end, before in reversed(self._spans):
            if moment >= start:
                return (before + min(moment, end) - start) / self.seconds * 100
        return 0.0


def draw_bar(bar: Bar | None) -> str:
    """Return the bar of one call as SVG; a call that has not begun has none."""
    if bar is None:
        return ""
    return f'<svg aria-hidden="true"><rect x="{_x(bar)}%" width="{_width(bar)}%" height="100%"/></svg>'


def draw_overview(timeline: Timeline, calls: Sequence[CallView]) -> str:
    """Return all calls as SVG, those at the same time in lanes of their own."""
    lanes: list[list[tuple[Bar, CallView]]] = []
    hidden = 0
    bars = [(bar, call) for call in calls if (bar := timeline.bar_of(call)) is not None]
    for bar, call in sorted(bars, key=lambda pair: pair[0]):
        for lane in lanes:
            if lane[-1][0].end <= bar.start:
                lane.append((bar, call))
                break
        else:
            if len(lanes) < _MAX_LANES:
                lanes.append([(bar, call)])
            else:
                hidden += 1
    if not lanes:
        return ""
    rects = "".join(_draw_lane(lane, number * _LANE_HEIGHT) for number, lane in enumerate(lanes))
    height = len(lanes) * _LANE_HEIGHT
    marks = "".join(f'<line x1="{x:.2f}%" x2="{x:.2f}%" y1="0" y2="{height}"/>' for x in timeline.breaks())
    label = f"{len(bars):,} calls in {duration_text(timeline.seconds)}, at most {len(lanes)} at a time"
    drawing = element("svg", rects + marks, class_="overview", role="img", aria_label=label, height=height)
    if hidden:
        label += f", and {hidden:,} more beside them"
    return drawing + element("p", markup_text(label), class_="note")


def duration_text(seconds: float) -> str:
    """Return a duration as people say it: `12 ms`, `3.4 s`, `2 min 5 s`."""
    if seconds < 1:
        return f"{seconds * _MILLISECONDS:.3g} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), _MINUTE)
    return f"{minutes:,} min {rest} s"


def _draw_lane(lane: list[tuple[Bar, CallView]], y: int) -> str:
    """Return the bars of a lane; bars that no one could tell apart are one."""
    merged: list[tuple[Bar, CallView]] = []
    for bar, call in lane:
        if merged and bar.start - merged[-1][0].start < _MIN_WIDTH:
            first = merged[-1]
            merged[-1] = (Bar(first[0].start, max(first[0].end, bar.end)), first[1])
        else:
            merged.append((bar, call))
    return "".join(
        element("rect", "", class_=call.state, data_call=call.path, x=f"{_x(bar)}%", width=f"{_width(bar)}%", y=y + 1)
        for bar, call in merged
    )


def _x(bar: Bar) -> str:
    return f"{min(bar.start, 100 - _MIN_WIDTH):.2f}"


def _width(bar: Bar) -> str:
    return f"{max(bar.end - bar.start, _MIN_WIDTH):.2f}"
