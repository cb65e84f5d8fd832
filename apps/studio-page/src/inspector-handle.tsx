import { useEffect, useState } from 'react';

/** The widths of the inspector, in pixels. CSS keeps room for the chat on small screens. */
const MIN_WIDTH = 340;
const MAX_WIDTH = 1400;
const KEY_STEP = 40;
const STORED = 'eventloom-inspector-width';

interface InspectorHandleProps {
  /** The element whose variable `--inspector` is the width. */
  readonly workbench: { readonly current: HTMLElement | null };
}

/** Makes the inspector wider or narrower, by dragging or with the arrow keys. The browser keeps the width. */
export function InspectorHandle({ workbench }: InspectorHandleProps) {
  const [width, setWidth] = useState(storedWidth);
  useEffect(() => {
    if (width === undefined) return;
    workbench.current?.style.setProperty('--inspector', `${width}px`);
    localStorage.setItem(STORED, String(width));
  }, [workbench, width]);
  const change = (next: number): void => setWidth(Math.round(Math.min(Math.max(next, MIN_WIDTH), MAX_WIDTH)));
  return (
    <div
      className="handle"
      role="separator"
      tabIndex={0}
      aria-label="Width of the inspector"
      aria-orientation="vertical"
      aria-valuemin={MIN_WIDTH}
      aria-valuemax={MAX_WIDTH}
      aria-valuenow={width ?? MIN_WIDTH}
      onPointerDown={({ currentTarget, pointerId }) => currentTarget.setPointerCapture(pointerId)}
      onPointerMove={({ currentTarget, pointerId, clientX }) => {
        if (currentTarget.hasPointerCapture(pointerId)) change(innerWidth - clientX);
      }}
      onKeyDown={({ key, currentTarget }) => {
        const now = currentTarget.parentElement?.offsetWidth ?? MIN_WIDTH;
        if (key === 'ArrowLeft') change(now + KEY_STEP);
        if (key === 'ArrowRight') change(now - KEY_STEP);
      }}
    />
  );
}

function storedWidth(): number | undefined {
  const stored = Number(localStorage.getItem(STORED));
  return stored >= MIN_WIDTH && stored <= MAX_WIDTH ? stored : undefined;
}
