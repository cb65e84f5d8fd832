import {
  BaseTool,
  BaseToolset,
  ConfigurationError,
  encodeBase64,
  EventloomError,
  type FunctionDeclaration,
  type RunAsyncToolRequest,
  type ToolProcessLlmRequest,
  toolResult,
  toError,
} from '@eventloom/core';
import { checkOptions, type OptionRules, wrongOption } from '@eventloom/core/internal';
import { checkPublicHost } from '#open-public-url';
import { addServiceTool } from '../built-in/add-service-tool.ts';
import { AddressRefusedError } from '../errors.ts';
import { ValueSchema } from '../schema/value-schema.ts';
import type { BaseComputer, ComputerState, ScrollDirection } from './base-computer.ts';

/** Options of `ComputerUseToolset`. */
export interface ComputerUseToolsetOptions {
  /** The computer that the model uses. */
  readonly computer: BaseComputer;
  /** Names of actions that the model may not use, such as `drag_and_drop`. Default: none. */
  readonly excludedPredefinedFunctions?: readonly string[] | undefined;
  /** True lets `navigate` open addresses of this machine and of internal networks, such as a local development server. Default false. */
  readonly allowPrivateNetworkAccess?: boolean | undefined;
}

const OPTIONS: OptionRules<ComputerUseToolsetOptions> = {
  computer: 'object',
  excludedPredefinedFunctions: 'list',
  allowPrivateNetworkAccess: 'flag',
};

/** The checked arguments of all actions, with coordinates in pixels. An action reads only those that its schema requires. */
interface ActionArguments {
  readonly x: number;
  readonly y: number;
  readonly destination_x: number;
  readonly destination_y: number;
  readonly text: string;
  readonly press_enter?: boolean;
  readonly clear_before_typing?: boolean;
  readonly direction: ScrollDirection;
  readonly magnitude: number;
  readonly seconds: number;
  readonly url: string;
  readonly keys: string | readonly string[];
}

/** An action of the model, and the corresponding call of the computer. */
interface Action {
  readonly description: string;
  readonly parameters?: Readonly<Record<string, object>>;
  readonly optional?: readonly string[];
  readonly run: (computer: BaseComputer, args: ActionArguments) => Promise<ComputerState>;
}

const NUMBER = { type: 'number' };
const POINT = { x: NUMBER, y: NUMBER };
const DIRECTION: { type: string; enum: ScrollDirection[] } = { type: 'string', enum: ['up', 'down', 'left', 'right'] };

/** The actions by the names with which Gemini itself declares them. */
const ACTIONS: Readonly<Record<string, Action>> = {
  open_web_browser: { description: 'Opens the web browser.', run: (computer) => computer.openWebBrowser() },
  click_at: {
    description: 'Clicks at a place.',
    parameters: POINT,
    run: (computer, { x, y }) => computer.clickAt({ x, y }),
  },
  hover_at: {
    description: 'Moves the pointer to a place.',
    parameters: POINT,
    run: (computer, { x, y }) => computer.hoverAt({ x, y }),
  },
  type_text_at: {
    description: 'Types text at a place.',
    parameters: {
      ...POINT,
      text: { type: 'string' },
      press_enter: { type: 'boolean' },
      clear_before_typing: { type: 'boolean' },
    },
    optional: ['press_enter', 'clear_before_typing'],
    run: (computer, { x, y, text, press_enter: pressEnter = true, clear_before_typing: clearBeforeTyping = true }) =>
      computer.typeTextAt({ x, y, text, pressEnter, clearBeforeTyping }),
  },
  scroll_document: {
    description: 'Scrolls the page.',
    parameters: { direction: DIRECTION },
    run: (computer, { direction }) => computer.scrollDocument({ direction }),
  },
  scroll_at: {
    description: 'Scrolls at a place.',
    parameters: { ...POINT, direction: DIRECTION, magnitude: NUMBER },
    optional: ['magnitude'],
    run: (computer, { x, y, direction, magnitude }) => computer.scrollAt({ x, y, direction, magnitude }),
  },
  wait: {
    description: 'Waits.',
    parameters: { seconds: { type: 'number', minimum: 0, maximum: 60 } },
    run: (computer, { seconds }) => computer.wait({ seconds }),
  },
  wait_5_seconds: { description: 'Waits five seconds.', run: (computer) => computer.wait({ seconds: 5 }) },
  go_back: { description: 'Goes back to the previous page.', run: (computer) => computer.goBack() },
  go_forward: { description: 'Goes forward to the next page.', run: (computer) => computer.goForward() },
  search: { description: 'Opens a search engine.', run: (computer) => computer.search() },
  navigate: {
    description: 'Opens a URL.',
    parameters: { url: { type: 'string' } },
    run: (computer, { url }) => computer.navigate({ url }),
  },
  key_combination: {
    description: 'Presses keys together.',
    parameters: { keys: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] } },
    run: (computer, { keys }) => computer.keyCombination({ keys: toKeys(keys) }),
  },
  drag_and_drop: {
    description: 'Drags from one place to another.',
    parameters: { ...POINT, destination_x: NUMBER, destination_y: NUMBER },
    run: (computer, { x, y, destination_x: destinationX, destination_y: destinationY }) =>
      computer.dragAndDrop({ x, y, destinationX, destinationY }),
  },
  current_state: { description: 'Shows the screen.', run: (computer) => computer.currentState() },
};

/** Returns the keys of an action. Models write them as a list, or as one text: `control+c`. */
function toKeys(keys: string | readonly string[]): readonly string[] {
  return typeof keys === 'string' ? keys.split('+') : keys;
}

/** Codes for the colours of a terminal, which Playwright writes into its errors. */
// oxlint-disable-next-line no-control-regex
const COLOURS = /\u001b\[[\d;]*m/g;

/** Width and height of the screen in the coordinates of models. */
const MODEL_SCREEN = 1000;
const WIDTHS: ReadonlySet<string> = new Set(['x', 'destination_x']);
const HEIGHTS: ReadonlySet<string> = new Set(['y', 'destination_y']);
/** Default distance of a scroll, as the service documents it. */
const SCROLL = 800;

/**
 * Lets a model use a computer and see the screen after each action. For models with computer use, such as
 * `gemini-2.5-computer-use-preview-10-2025`.
 *
 * The model's service declares the actions itself. Places are converted to pixels. If the model requests a person's
 * confirmation of an action (`safety_decision`), the call waits for the answer. The computer stays open between runs:
 * `runner.close()` closes it, and without that the browser keeps a program from ending. `navigate` opens public
 * addresses only, unless `allowPrivateNetworkAccess` is true. A page can lead the browser elsewhere: see the options of
 * the computer.
 *
 * @example
 * declare const chromium: { launch(): Promise<PlaywrightBrowser> }; // of playwright-core
 * const browser = new PlaywrightComputer({ launch: () => chromium.launch() });
 * const toolset = new ComputerUseToolset({ computer: browser });
 * const agent = new LlmAgent({ name: 'surfer', model: 'gemini-2.5-computer-use-preview-10-2025', tools: [toolset] });
 */
export class ComputerUseToolset extends BaseToolset {
  readonly #options: ComputerUseToolsetOptions;
  #tools: Promise<BaseTool[]> | undefined;

  /** @throws ConfigurationError without a computer, for an action that does not exist and for an unknown option */
  constructor(options: ComputerUseToolsetOptions) {
    checkOptions('ComputerUseToolset', OPTIONS, options);
    super([], undefined, { name: 'computer_use' });
    const { computer, excludedPredefinedFunctions = [] } = options;
    if (typeof computer?.currentState !== 'function')
      throw wrongOption(
        'ComputerUseToolset',
        'computer',
        'a BaseComputer',
        computer,
        'new PlaywrightComputer({ launch: () => chromium.launch() })',
      );
    const unknown = excludedPredefinedFunctions.find((name) => !Object.hasOwn(ACTIONS, name));
    if (unknown !== undefined)
      throw new ConfigurationError(
        `ComputerUseToolset: excludedPredefinedFunctions: there is no action ${JSON.stringify(unknown)}; the actions are ${Object.keys(ACTIONS).join(', ')}`,
      );
    this.#options = options;
  }

  /** Opens the computer at the first call, and returns a tool for each action. */
  override getTools(): Promise<BaseTool[]> {
    // A computer that failed to open is opened again in the next turn.
    return (this.#tools ??= this.#open().catch((error: unknown) => {
      this.#tools = undefined;
      throw error;
    }));
  }

  /** Keeps the page between runs: the next message is about it, and so is an action that waits for a person. */
  override async suspend(): Promise<void> {}

  /** Closes the computer. The next run opens it again. */
  override async close(): Promise<void> {
    this.#tools = undefined;
    await this.#options.computer.close();
  }

  async #open(): Promise<BaseTool[]> {
    const { computer, excludedPredefinedFunctions = [] } = this.#options;
    await computer.initialize();
    const screen = await computer.screenSize();
    if (!screen.every((length) => Number.isInteger(length) && length > 0))
      throw new ConfigurationError(
        `ComputerUseToolset: screenSize: expected two positive integers, got ${screen.join(' × ')}; write async screenSize() { return [1440, 900]; } in the class of the computer`,
      );
    const setting = {
      computerUse: {
        environment: await computer.environment(),
        ...(excludedPredefinedFunctions.length > 0 && {
          excludedPredefinedFunctions: [...excludedPredefinedFunctions],
        }),
      },
    };
    const names = Object.keys(ACTIONS).filter((name) => !excludedPredefinedFunctions.includes(name));
    return names.map((name) => new ComputerUseTool(name, this.#options, screen, setting));
  }
}

/** The tool for one action. */
class ComputerUseTool extends BaseTool {
  readonly #options: ComputerUseToolsetOptions;
  readonly #screen: readonly [number, number];
  readonly #setting: object;
  readonly #action: Action;
  readonly #parameters: ValueSchema;

  constructor(name: string, options: ComputerUseToolsetOptions, screen: readonly [number, number], setting: object) {
    const action = ACTIONS[name];
    if (!action) throw new ConfigurationError(`ComputerUseToolset: there is no action ${JSON.stringify(name)}`);
    super({ name, description: action.description });
    this.#options = options;
    this.#screen = screen;
    this.#setting = setting;
    this.#action = action;
    const { parameters = {}, optional = [] } = action;
    const required = Object.keys(parameters).filter((key) => !optional.includes(key));
    this.#parameters = new ValueSchema({ type: 'object', properties: parameters, required }, `action "${name}"`);
  }

  /** Returns undefined: the model's service declares the action. */
  override _getDeclaration(): FunctionDeclaration | undefined {
    return undefined;
  }

  override processLlmRequest({ llmRequest }: ToolProcessLlmRequest): void {
    llmRequest.toolsDict = { ...llmRequest.toolsDict, [this.name]: this };
    // The first action adds the setting for all of them.
    if (!llmRequest.config.tools?.includes(this.#setting))
      addServiceTool(llmRequest, 'ComputerUseToolset', this.#setting, 2);
  }

  override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    const { computer } = this.#options;
    const checked = await this.#parameters.check(args);
    if ('issues' in checked)
      return this.#failure(`the arguments of ${this.name} are not valid: ${checked.issues.join('; ')}`);
    const decision = safetyDecision(args);
    const { toolConfirmation } = toolContext;
    if (decision !== undefined && !toolConfirmation) {
      // The service refuses a response without the URL of the page, so the model is not called while the person decides.
      toolContext.requestConfirmation({ hint: decision, endsTurn: true });
      return undefined;
    }
    if (decision !== undefined && toolConfirmation?.confirmed !== true)
      return this.#failure('This tool call is rejected.');
    await computer.prepare(toolContext);
    const acknowledged = decision === undefined ? {} : { safety_acknowledgement: 'true' };
    const refusal = this.name === 'navigate' ? await this.#refusal(args['url']) : undefined;
    if (refusal !== undefined) return this.#failure(refusal, acknowledged);
    let state: ComputerState;
    try {
      state = await this.#action.run(computer, this.#inPixels(args));
    } catch (error) {
      // The model can act on what the browser says, such as an address that does not answer, and on nothing else.
      if (toolContext.abortSignal.aborted || EventloomError.isInstance(error)) throw error;
      return this.#failure(toError(error).message.replaceAll(COLOURS, ''), acknowledged);
    }
    const { screenshot, url } = state;
    return toolResult({
      response: { url, ...acknowledged },
      parts: [{ inlineData: { mimeType: 'image/png', data: encodeBase64(screenshot) } }],
    });
  }

  /** Returns the response for an action that was not done. The service refuses a response without the URL of the page. */
  async #failure(error: string, acknowledged: object = {}): Promise<object> {
    return { error, url: (await this.#options.computer.currentState()).url, ...acknowledged };
  }

  async #refusal(url: unknown): Promise<string | undefined> {
    if (this.#options.allowPrivateNetworkAccess === true) return undefined;
    try {
      await checkPublicHost(String(url));
      return undefined;
    } catch (error) {
      if (AddressRefusedError.isInstance(error)) return `${String(url)}: ${error.message}`;
      return `${String(url)}: cannot be resolved: ${toError(error).message}`;
    }
  }

  #inPixels(args: Readonly<Record<string, unknown>>): ActionArguments {
    const [width, height] = this.#screen;
    const entries = Object.entries(args).map(([key, value]) => {
      if (typeof value !== 'number') return [key, value];
      if (WIDTHS.has(key)) return [key, toPixels(value, width)];
      if (HEIGHTS.has(key)) return [key, toPixels(value, height)];
      return [key, key === 'magnitude' ? Math.round((value / MODEL_SCREEN) * height) : value];
    });
    const magnitude = Math.round((SCROLL / MODEL_SCREEN) * height);
    // The schema has checked the arguments.
    return { magnitude, ...(Object.fromEntries(entries) as Omit<ActionArguments, 'magnitude'>) };
  }
}

function toPixels(value: number, length: number): number {
  return Math.max(0, Math.min(Math.floor((value / MODEL_SCREEN) * length), length - 1));
}

/** Returns the explanation of an action that a person has to confirm; undefined for other actions. */
function safetyDecision({ safety_decision: given }: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  const { decision, explanation } = given as { readonly decision?: unknown; readonly explanation?: unknown };
  if (decision !== 'require_confirmation') return undefined;
  return typeof explanation === 'string' ? explanation : 'The model asks you to confirm this action.';
}
