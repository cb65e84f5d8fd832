import { ConfigurationError, type ToolConfirmation, ToolContext, createLlmRequest } from '@eventloom/core';
import { testContext } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { ComputerUseToolset, type ComputerUseToolsetOptions } from './computer-use-toolset.ts';
import {
  type PlaywrightBrowser,
  PlaywrightComputer,
  type PlaywrightComputerOptions,
  type PlaywrightPage,
  type PlaywrightRoute,
} from './playwright-computer.ts';

/** A browser that records all calls. */
class RecordingBrowser implements PlaywrightBrowser {
  readonly steps: unknown[][] = [];
  filter: ((route: PlaywrightRoute) => Promise<void>) | undefined;
  /** The error with which `goto` fails. */
  refused: string | undefined;
  #url = 'about:blank';

  readonly #record =
    (name: string) =>
    (...args: unknown[]): Promise<void> => {
      this.steps.push([name, ...args]);
      return Promise.resolve();
    };

  async newPage(options: object): Promise<PlaywrightPage> {
    this.steps.push(['newPage', options]);
    const record = this.#record;
    return {
      mouse: {
        click: record('click'),
        move: record('move'),
        down: record('down'),
        up: record('up'),
        wheel: record('wheel'),
      },
      keyboard: { press: record('press'), type: record('type') },
      goto: (url) => {
        if (this.refused !== undefined) return Promise.reject(new Error(this.refused));
        this.#url = url;
        return record('goto')(url);
      },
      goBack: record('goBack'),
      goForward: record('goForward'),
      url: () => this.#url,
      screenshot: () => Promise.resolve(Uint8Array.of(1, 2, 3)),
      waitForLoadState: () => Promise.resolve(),
      waitForTimeout: record('waitForTimeout'),
      route: (_pattern, handler) => {
        this.filter = handler;
        return Promise.resolve();
      },
    };
  }

  close(): Promise<void> {
    return this.#record('close')();
  }
}

function setUp(options: Partial<PlaywrightComputerOptions> = {}, toolset: Partial<ComputerUseToolsetOptions> = {}) {
  const browser = new RecordingBrowser();
  const computer = new PlaywrightComputer({
    launch: () => Promise.resolve(browser),
    screenSize: [2000, 500],
    ...options,
  });
  return { browser, computer, toolset: new ComputerUseToolset({ computer, ...toolset }) };
}

/** Calls an action, and returns its response and the recorded calls of the browser. */
async function act(
  name: string,
  args: Record<string, unknown> = {},
  given = setUp(),
  toolConfirmation?: ToolConfirmation,
) {
  const tools = await given.toolset.getTools();
  given.browser.steps.length = 0;
  const toolContext = new ToolContext({ invocationContext: testContext(), functionCallId: 'c1', toolConfirmation });
  const tool = tools.find((one) => one.name === name) ?? expect.unreachable();
  const response = await tool.runAsync({ args, toolContext });
  return { response, steps: given.browser.steps, toolContext };
}

test('the toolset adds one setting and all actions to a request', async () => {
  const { toolset } = setUp({}, { excludedPredefinedFunctions: ['drag_and_drop'] });
  const llmRequest = { ...createLlmRequest(), model: 'gemini-2.5-computer-use-preview-10-2025' };
  const toolContext = new ToolContext({ invocationContext: testContext(), functionCallId: '' });
  for (const tool of await toolset.getTools()) await tool.processLlmRequest({ toolContext, llmRequest });
  expect(llmRequest.config.tools).toEqual([
    { computerUse: { environment: 'ENVIRONMENT_BROWSER', excludedPredefinedFunctions: ['drag_and_drop'] } },
  ]);
  expect(Object.keys(llmRequest.toolsDict)).toHaveLength(14);
  expect(llmRequest.toolsDict).not.toHaveProperty('drag_and_drop');
});

test('an action returns the screen and the URL', async () => {
  const { response } = await act('current_state');
  expect(response).toMatchObject({
    response: { url: 'about:blank' },
    parts: [{ inlineData: { mimeType: 'image/png', data: 'AQID' } }],
  });
});

test.each<[string, Record<string, unknown>, unknown[][]]>([
  ['click_at', { x: 500, y: 500 }, [['click', 1000, 250]]],
  ['click_at', { x: 1000, y: -5 }, [['click', 1999, 0]]],
  ['hover_at', { x: 0, y: 999 }, [['move', 0, 499]]],
  [
    'type_text_at',
    { x: 0, y: 0, text: 'hi' },
    [
      ['click', 0, 0],
      ['press', 'ControlOrMeta+A'],
      ['press', 'Delete'],
      ['type', 'hi'],
      ['press', 'Enter'],
    ],
  ],
  [
    'type_text_at',
    { x: 0, y: 0, text: 'hi', press_enter: false, clear_before_typing: false },
    [
      ['click', 0, 0],
      ['type', 'hi'],
    ],
  ],
  ['scroll_document', { direction: 'down' }, [['wheel', 0, 400]]],
  ['scroll_document', { direction: 'left' }, [['wheel', -1600, 0]]],
  [
    'scroll_at',
    { x: 100, y: 100, direction: 'up', magnitude: 500 },
    [
      ['move', 200, 50],
      ['wheel', 0, -250],
    ],
  ],
  [
    'scroll_at',
    { x: 100, y: 100, direction: 'right' },
    [
      ['move', 200, 50],
      ['wheel', 400, 0],
    ],
  ],
  ['wait', { seconds: 2 }, [['waitForTimeout', 2000]]],
  ['wait_5_seconds', {}, [['waitForTimeout', 5000]]],
  ['go_back', {}, [['goBack']]],
  ['go_forward', {}, [['goForward']]],
  ['search', {}, [['goto', 'https://www.google.com']]],
  ['key_combination', { keys: ['control', 'c'] }, [['press', 'ControlOrMeta+c']]],
  ['key_combination', { keys: 'Ctrl+Shift+f5' }, [['press', 'ControlOrMeta+Shift+F5']]],
  [
    'drag_and_drop',
    { x: 0, y: 0, destination_x: 500, destination_y: 500 },
    [['move', 0, 0], ['down'], ['move', 1000, 250], ['up']],
  ],
  ['open_web_browser', {}, []],
])('%s with %j is performed in the browser', async (name, args, steps) => {
  expect((await act(name, args)).steps).toEqual(steps);
});

test('invalid arguments are answered with the reason, and no action is performed', async () => {
  const { response, steps } = await act('click_at', { x: 'left' });
  expect(response).toEqual({
    error: expect.stringMatching(
      /^the arguments of click_at are not valid: .*required property "y".*x: Instance type "string"/,
    ),
    url: 'about:blank',
  });
  expect(steps).toEqual([]);
});

test.each(['http://127.0.0.1:8080/', 'http://169.254.169.254/', 'file:///etc/passwd', 'http://localhost/'])(
  'navigate refuses %s, and returns the open page',
  async (url) => {
    const { response, steps } = await act('navigate', { url });
    expect(response).toEqual({ error: expect.stringMatching(/is not public|has the scheme/), url: 'about:blank' });
    expect(steps).toEqual([]);
  },
);

test('an action that fails in the browser is answered with its error, without colours, and the open page', async () => {
  const given = setUp({}, { allowPrivateNetworkAccess: true });
  given.browser.refused = 'page.goto: \u001b[2mnet::ERR_CONNECTION_REFUSED\u001b[22m';
  const { response } = await act('navigate', { url: 'http://localhost:1/' }, given);
  expect(response).toEqual({ error: 'page.goto: net::ERR_CONNECTION_REFUSED', url: 'about:blank' });
});

test('navigate opens local pages if the options allow them', async () => {
  const given = setUp({}, { allowPrivateNetworkAccess: true });
  expect((await act('navigate', { url: 'http://localhost:3000/' }, given)).steps).toEqual([
    ['goto', 'http://localhost:3000/'],
  ]);
});

test.each([
  ['http://10.0.0.1/x.png', 'accessdenied'],
  ['http://localhost/', 'accessdenied'],
  ['https://[2606:4700::1111]/', 'passed'],
  ['data:text/plain,x', 'passed'],
])('a request by a page to %s is %s', async (url, expected) => {
  const { browser, computer } = setUp();
  await computer.initialize();
  let outcome = '';
  await browser.filter?.({
    request: () => ({ url: () => url }),
    abort: async (reason) => void (outcome = reason),
    fallback: async () => void (outcome = 'passed'),
  });
  expect(outcome).toBe(expected);
});

test('requests by pages are not checked if local pages are allowed', async () => {
  const { browser, computer } = setUp({ allowPrivateNetworkAccess: true });
  await computer.initialize();
  expect(browser.filter).toBeUndefined();
});

const RISKY = {
  x: 0,
  y: 0,
  safety_decision: { decision: 'require_confirmation', explanation: 'This buys something.' },
};

test('an action whose confirmation the model requests waits for a person', async () => {
  const { response, steps, toolContext } = await act('click_at', RISKY);
  expect([response, steps]).toEqual([undefined, []]);
  expect(toolContext.actions).toMatchObject({
    requestedToolConfirmations: { c1: { hint: 'This buys something.' } },
    skipSummarization: true,
  });
});

test('a rejected action is not performed, and the model reads that', async () => {
  const { response, steps, toolContext } = await act('click_at', RISKY, setUp(), { confirmed: false });
  expect(response).toEqual({ error: 'This tool call is rejected.', url: 'about:blank' });
  expect([steps, toolContext.actions.requestedToolConfirmations]).toEqual([[], undefined]);
});

test('a confirmed action is performed and acknowledged', async () => {
  const { response, steps } = await act('click_at', RISKY, setUp(), { confirmed: true });
  expect(response).toMatchObject({ response: { safety_acknowledgement: 'true' } });
  expect(steps).toEqual([['click', 0, 0]]);
});

test('the page stays open between runs, and the browser is opened again after the toolset was closed', async () => {
  const given = setUp({ initialUrl: 'https://example.com/' });
  await given.toolset.getTools();
  await given.toolset.suspend();
  expect((await act('current_state', {}, given)).response).toMatchObject({ response: { url: 'https://example.com/' } });
  await given.toolset.close();
  expect((await act('click_at', { x: 0, y: 0 }, given)).steps).toEqual([['click', 0, 0]]);
});

test('the browser is opened once, and closed with the toolset', async () => {
  const { browser, toolset } = setUp({ initialUrl: 'https://example.com/' });
  await toolset.getTools();
  await toolset.getTools();
  await toolset.close();
  expect(browser.steps).toEqual([
    ['newPage', { viewport: { width: 2000, height: 500 } }],
    ['goto', 'https://example.com/'],
    ['close'],
  ]);
});

test('a browser that failed to start is started again', async () => {
  let starts = 0;
  const launch = async (): Promise<PlaywrightBrowser> => {
    if (starts++ === 0) throw new TypeError('no display');
    return new RecordingBrowser();
  };
  const toolset = new ComputerUseToolset({ computer: new PlaywrightComputer({ launch }) });
  await expect(toolset.getTools()).rejects.toThrow('no display');
  expect(await toolset.getTools()).toHaveLength(15);
});

test.each<[object, string]>([
  [
    {},
    'ComputerUseToolset: computer: expected a BaseComputer, got nothing; write computer: new PlaywrightComputer({ launch: () => chromium.launch() })',
  ],
  [
    { computer: setUp().computer, excludedPredefinedFunctions: ['click'] },
    'ComputerUseToolset: excludedPredefinedFunctions: there is no action "click"; the actions are open_web_browser, click_at',
  ],
])('a toolset of %j is refused', (options, message) => {
  const make = () => new ComputerUseToolset(options as ComputerUseToolsetOptions);
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(message);
});

test.each<[object, string]>([
  [
    {},
    'PlaywrightComputer: launch: expected a function that starts a browser, got nothing; write launch: () => chromium.launch()',
  ],
  [
    { launch: () => undefined, screenSize: [0, 5] },
    'PlaywrightComputer: screenSize: expected a list of two positive integers, got a list; write screenSize: [1440, 900]',
  ],
])('a browser with %j is refused', (options, message) => {
  expect(() => new PlaywrightComputer(options as PlaywrightComputerOptions)).toThrow(message);
});

test('an action before the browser is open throws an error that says what to call', async () => {
  await expect(setUp().computer.currentState()).rejects.toThrow(
    'the browser is not open; await computer.initialize() first',
  );
});
