import { ConfigurationError } from '@eventloom/core';
import { checkOptions, describeKind, type OptionRules, wrongOption } from '@eventloom/core/internal';
import { checkPublicHost } from '#open-public-url';
import { BaseComputer, type ComputerState, type ScreenPoint, type ScrollDirection } from './base-computer.ts';

/** The part of a `Page` of Playwright that is used. */
export interface PlaywrightPage {
  readonly mouse: {
    click(x: number, y: number): Promise<void>;
    move(x: number, y: number): Promise<void>;
    down(): Promise<void>;
    up(): Promise<void>;
    wheel(deltaX: number, deltaY: number): Promise<void>;
  };
  readonly keyboard: { press(keys: string): Promise<void>; type(text: string): Promise<void> };
  goto(url: string): Promise<unknown>;
  goBack(): Promise<unknown>;
  goForward(): Promise<unknown>;
  url(): string;
  screenshot(options: { readonly type: 'png' }): Promise<Uint8Array>;
  waitForLoadState(): Promise<void>;
  waitForTimeout(ms: number): Promise<void>;
  route(pattern: string, handler: (route: PlaywrightRoute) => Promise<void>): Promise<unknown>;
}

/** The part of a `Route` of Playwright that is used. */
export interface PlaywrightRoute {
  request(): { url(): string };
  abort(reason: string): Promise<void>;
  fallback(): Promise<void>;
}

/** The part of a `Browser` of Playwright that is used. */
export interface PlaywrightBrowser {
  newPage(options: { readonly viewport: { readonly width: number; readonly height: number } }): Promise<PlaywrightPage>;
  close(): Promise<void>;
}

/** Options of `PlaywrightComputer`. */
export interface PlaywrightComputerOptions {
  /** Starts the browser: `() => chromium.launch()`, with `chromium` of playwright, playwright-core or `@cloudflare/playwright`. */
  readonly launch: () => Promise<PlaywrightBrowser>;
  /** Width and height of the page in pixels. Default 1440 × 900. */
  readonly screenSize?: readonly [number, number] | undefined;
  /** The page that is open at first. Default: `about:blank`. */
  readonly initialUrl?: string | undefined;
  /** The page that `search` opens. Default: `https://www.google.com`. */
  readonly searchEngineUrl?: string | undefined;
  /**
   * True lets pages load from this machine and from internal networks. Default false: each request of a page is checked, on Node with the
   * addresses to which its name resolves. The browser resolves the name again, so run a browser that strangers can use behind a firewall.
   */
  readonly allowPrivateNetworkAccess?: boolean | undefined;
}

const OPTIONS: OptionRules<PlaywrightComputerOptions> = {
  launch: 'function',
  screenSize: 'list',
  initialUrl: 'text',
  searchEngineUrl: 'text',
  allowPrivateNetworkAccess: 'flag',
};

/**
 * A browser that Playwright controls. It has one page, so use one object for each session.
 *
 * @example
 * declare const chromium: { launch(): Promise<PlaywrightBrowser> }; // of playwright-core
 * const computer = new PlaywrightComputer({ launch: () => chromium.launch(), screenSize: [1280, 800] });
 */
export class PlaywrightComputer extends BaseComputer {
  readonly #options: PlaywrightComputerOptions;
  #browser: PlaywrightBrowser | undefined;
  #page: PlaywrightPage | undefined;

  /** @throws ConfigurationError without `launch`, for a size that is not two positive integers, and for an unknown option */
  constructor(options: PlaywrightComputerOptions) {
    super();
    checkOptions('PlaywrightComputer', OPTIONS, options, { browser: 'write launch: () => chromium.launch()' });
    if (typeof options.launch !== 'function')
      throw new ConfigurationError(
        `PlaywrightComputer: launch: expected a function that starts a browser, got ${describeKind(options.launch)}; write launch: () => chromium.launch()`,
      );
    const { screenSize = [1440, 900] } = options;
    if (screenSize.length !== 2 || !screenSize.every((length) => Number.isInteger(length) && length > 0))
      throw wrongOption(
        'PlaywrightComputer',
        'screenSize',
        'a list of two positive integers',
        screenSize,
        '[1440, 900]',
      );
    this.#options = options;
  }

  override screenSize(): readonly [number, number] {
    return this.#options.screenSize ?? [1440, 900];
  }

  override environment(): 'ENVIRONMENT_BROWSER' {
    return 'ENVIRONMENT_BROWSER';
  }

  override async initialize(): Promise<void> {
    const { launch, initialUrl, allowPrivateNetworkAccess } = this.#options;
    const [width, height] = this.screenSize();
    const browser = await launch();
    this.#browser = browser;
    const page = await browser.newPage({ viewport: { width, height } });
    if (allowPrivateNetworkAccess !== true) await page.route('**/*', filterRequest);
    if (initialUrl !== undefined) await page.goto(initialUrl);
    this.#page = page;
  }

  override async close(): Promise<void> {
    await this.#browser?.close();
    this.#browser = undefined;
    this.#page = undefined;
  }

  override openWebBrowser(): Promise<ComputerState> {
    return this.currentState();
  }

  override clickAt({ x, y }: ScreenPoint): Promise<ComputerState> {
    return this.#after(({ mouse }) => mouse.click(x, y));
  }

  override hoverAt({ x, y }: ScreenPoint): Promise<ComputerState> {
    return this.#after(({ mouse }) => mouse.move(x, y));
  }

  override typeTextAt({
    x,
    y,
    text,
    pressEnter,
    clearBeforeTyping,
  }: Parameters<BaseComputer['typeTextAt']>[0]): Promise<ComputerState> {
    return this.#after(async ({ mouse, keyboard }) => {
      await mouse.click(x, y);
      if (clearBeforeTyping) {
        await keyboard.press('ControlOrMeta+A');
        await keyboard.press('Delete');
      }
      await keyboard.type(text);
      if (pressEnter) await keyboard.press('Enter');
    });
  }

  override scrollDocument({ direction }: { readonly direction: ScrollDirection }): Promise<ComputerState> {
    const [width, height] = this.screenSize();
    const isHorizontal = direction === 'left' || direction === 'right';
    return this.#after(({ mouse }) => mouse.wheel(...wheelOf(direction, (isHorizontal ? width : height) * 0.8)));
  }

  override scrollAt({ x, y, direction, magnitude }: Parameters<BaseComputer['scrollAt']>[0]): Promise<ComputerState> {
    return this.#after(async ({ mouse }) => {
      await mouse.move(x, y);
      await mouse.wheel(...wheelOf(direction, magnitude));
    });
  }

  override wait({ seconds }: { readonly seconds: number }): Promise<ComputerState> {
    return this.#after((page) => page.waitForTimeout(seconds * 1000));
  }

  override goBack(): Promise<ComputerState> {
    return this.#after((page) => page.goBack());
  }

  override goForward(): Promise<ComputerState> {
    return this.#after((page) => page.goForward());
  }

  override search(): Promise<ComputerState> {
    return this.navigate({ url: this.#options.searchEngineUrl ?? 'https://www.google.com' });
  }

  override navigate({ url }: { readonly url: string }): Promise<ComputerState> {
    return this.#after((page) => page.goto(url));
  }

  override keyCombination({ keys }: { readonly keys: readonly string[] }): Promise<ComputerState> {
    return this.#after(({ keyboard }) => keyboard.press(keys.map(keyName).join('+')));
  }

  override dragAndDrop({
    x,
    y,
    destinationX,
    destinationY,
  }: Parameters<BaseComputer['dragAndDrop']>[0]): Promise<ComputerState> {
    return this.#after(async ({ mouse }) => {
      await mouse.move(x, y);
      await mouse.down();
      await mouse.move(destinationX, destinationY);
      await mouse.up();
    });
  }

  override currentState(): Promise<ComputerState> {
    return this.#after(() => Promise.resolve());
  }

  /** Runs an action on the page, and returns the screen after it. */
  async #after(action: (page: PlaywrightPage) => Promise<unknown>): Promise<ComputerState> {
    const page = this.#page;
    if (!page)
      throw new ConfigurationError('PlaywrightComputer: the browser is not open; await computer.initialize() first');
    await action(page);
    await page.waitForLoadState();
    return { screenshot: await page.screenshot({ type: 'png' }), url: page.url() };
  }
}

async function filterRequest(route: PlaywrightRoute): Promise<void> {
  const url = route.request().url();
  // URLs of content that the page created itself are not fetched.
  const isLocal = /^(data|blob|about):/.test(url);
  const isAllowed = isLocal || (await checkPublicHost(url).then(yes, no));
  return isAllowed ? route.fallback() : route.abort('accessdenied');
}

const yes = (): boolean => true;
const no = (): boolean => false;

function wheelOf(direction: ScrollDirection, distance: number): [number, number] {
  if (direction === 'left' || direction === 'right') return [direction === 'left' ? -distance : distance, 0];
  return [0, direction === 'up' ? -distance : distance];
}

/** Playwright's names for the keys that models write. */
const KEYS: Readonly<Record<string, string>> = {
  alt: 'Alt',
  backspace: 'Backspace',
  cmd: 'Meta',
  command: 'Meta',
  control: 'ControlOrMeta',
  ctrl: 'ControlOrMeta',
  delete: 'Delete',
  down: 'ArrowDown',
  end: 'End',
  enter: 'Enter',
  esc: 'Escape',
  escape: 'Escape',
  home: 'Home',
  insert: 'Insert',
  left: 'ArrowLeft',
  meta: 'Meta',
  pagedown: 'PageDown',
  pageup: 'PageUp',
  return: 'Enter',
  right: 'ArrowRight',
  shift: 'Shift',
  space: 'Space',
  tab: 'Tab',
  up: 'ArrowUp',
};

function keyName(key: string): string {
  const name = key.toLowerCase();
  return KEYS[name] ?? (/^f\d{1,2}$/.test(name) ? name.toUpperCase() : key);
}
