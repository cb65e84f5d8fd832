import type { Event } from '@eventloom/core';
import { clockOf } from './clock.ts';
import { Button, Label, Slider, SliderOutput, SliderThumb, SliderTrack } from 'react-aria-components';

interface TimeSliderProps {
  readonly count: number;
  readonly position: number | undefined;
  readonly events: readonly Event[];
  readonly onChange: (position: number | undefined) => void;
  readonly onFork: () => Promise<void>;
}

/** Selects an event: the page then shows the conversation, the state and the agents as of that event. */
export function TimeSlider({ count, position, events, onChange, onFork }: TimeSliderProps) {
  // The bar keeps its place, so that the field for messages does not move with the first event.
  if (count === 0)
    return (
      <div className="time">
        <span className="hint">Time: no events yet</span>
      </div>
    );
  const value = Math.min(position ?? count, count);
  const isPast = value < count;
  const event = events[value - 1];
  return (
    <div className="time" data-past={isPast}>
      <Slider
        className="slider"
        // With one event there is nowhere to go, and the thumb is at the end.
        isDisabled={count === 1}
        minValue={count === 1 ? 0 : 1}
        maxValue={count}
        value={value}
        onChange={(next) => onChange(next === count ? undefined : Number(next))}
      >
        <Label>Time</Label>
        <SliderOutput>
          event {value} of {count}
          {isPast && event ? `, ${clockOf(event.timestamp)}` : ''}
        </SliderOutput>
        <SliderTrack className="track">
          <SliderThumb className="thumb" />
        </SliderTrack>
      </Slider>
      {isPast && (
        <>
          <Button className="quiet" onPress={() => void onFork()}>
            Fork here
          </Button>
          <Button className="primary" onPress={() => onChange(undefined)}>
            Back to now
          </Button>
        </>
      )}
    </div>
  );
}
