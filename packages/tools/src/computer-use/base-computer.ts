import type { MaybePromise, ToolContext } from '@eventloom/core';

/** The state of the computer after an action: its screen and its page. */
export interface ComputerState {
  /** A PNG of the whole screen. */
  readonly screenshot: Uint8Array;
  /** The URL of the page. */
  readonly url: string;
}

/** A direction in which to scroll. */
export type ScrollDirection = 'up' | 'down' | 'left' | 'right';

/** A place on the screen, in pixels from its upper left corner. */
export interface ScreenPoint {
  readonly x: number;
  readonly y: number;
}

/**
 * A computer that a model uses: a browser or a device. Each action returns the screen after it. An object controls one machine, so it
 * serves one session at a time; see `prepare`.
 */
export abstract class BaseComputer {
  /** Returns the size of the screen in pixels: width and height. */
  abstract screenSize(): MaybePromise<readonly [number, number]>;
  /** Returns the kind of machine. */
  abstract environment(): MaybePromise<'ENVIRONMENT_BROWSER'>;

  /** Opens the machine. Called once, before the first action. */
  initialize(): MaybePromise<void> {}

  /** Called before each action, for example to choose the window of the session. */
  prepare(_toolContext: ToolContext): MaybePromise<void> {}

  /** Closes the machine. No action is called afterwards. */
  close(): MaybePromise<void> {}

  abstract openWebBrowser(): Promise<ComputerState>;
  abstract clickAt(at: ScreenPoint): Promise<ComputerState>;
  abstract hoverAt(at: ScreenPoint): Promise<ComputerState>;
  abstract typeTextAt(
    text: ScreenPoint & { readonly text: string; readonly pressEnter: boolean; readonly clearBeforeTyping: boolean },
  ): Promise<ComputerState>;
  abstract scrollDocument(scroll: { readonly direction: ScrollDirection }): Promise<ComputerState>;
  /** Scrolls at a place, by a number of pixels. */
  abstract scrollAt(
    scroll: ScreenPoint & { readonly direction: ScrollDirection; readonly magnitude: number },
  ): Promise<ComputerState>;
  abstract wait(time: { readonly seconds: number }): Promise<ComputerState>;
  abstract goBack(): Promise<ComputerState>;
  abstract goForward(): Promise<ComputerState>;
  /** Opens the home page of a search engine. */
  abstract search(): Promise<ComputerState>;
  abstract navigate(page: { readonly url: string }): Promise<ComputerState>;
  /** Presses keys together, such as `control` and `c`. */
  abstract keyCombination(combination: { readonly keys: readonly string[] }): Promise<ComputerState>;
  abstract dragAndDrop(
    drag: ScreenPoint & { readonly destinationX: number; readonly destinationY: number },
  ): Promise<ComputerState>;
  abstract currentState(): Promise<ComputerState>;
}
