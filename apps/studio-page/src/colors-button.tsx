import { useState } from 'react';
import { Button } from 'react-aria-components';

const STORED = 'eventloom-colors';
/** The colors of the page, in the order of the button. `system`: as the person chose for all programs. */
const COLORS = ['system', 'light', 'dark'] as const;
type Colors = (typeof COLORS)[number];

/** Gives the page the colors that the person chose before. */
export function applyStoredColors(): void {
  document.documentElement.dataset['colors'] = storedColors();
}

function storedColors(): Colors {
  const stored = localStorage.getItem(STORED);
  return COLORS.find((each) => each === stored) ?? 'system';
}

/** Changes between the colors of the system, light ones and dark ones. The browser keeps the choice. */
export function ColorsButton() {
  const [colors, setColors] = useState(storedColors);
  const change = (): void => {
    const next = COLORS[(COLORS.indexOf(colors) + 1) % COLORS.length] ?? 'system';
    localStorage.setItem(STORED, next);
    applyStoredColors();
    setColors(next);
  };
  return (
    <Button className="colors" aria-label={`Colors: ${colors}`} onPress={change}>
      {{ system: '◐', light: '☀', dark: '☾' }[colors]}
    </Button>
  );
}
