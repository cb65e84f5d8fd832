import { type ReactNode, useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import type { Event, SessionKey } from '@eventloom/core';
import {
  Button,
  Dialog,
  Input,
  Label,
  Modal,
  ModalOverlay,
  Tab,
  TabList,
  TabPanel,
  Tabs,
  TextField,
} from 'react-aria-components';
import {
  type CallPart,
  type ClientSession,
  type Conversation,
  emptyConversation,
  type Message,
  type MessagePart,
  reduceEvents,
} from '@eventloom/client';
import { useAgent } from '@eventloom/client/react';
import { AgentsTab } from './agents-tab.tsx';
import { ArtifactsTab } from './artifacts-tab.tsx';
import { Chat, codeOf } from './chat.tsx';
import { ErrorBoundary } from './error-boundary.tsx';
import { EventsTab } from './events-tab.tsx';
import { InspectorHandle } from './inspector-handle.tsx';
import { isStop } from './message-view.tsx';
import { type StateValues, stateBefore } from './past-state.ts';
import { agentAtWork } from './run-events.ts';
import { artifactsIn, type SavedArtifact, useStoredArtifacts } from './saved-artifacts.tsx';
import { type ListedSessions, SessionList, useListedSessions } from './session-list.tsx';
import { StateTab } from './state-tab.tsx';
import { RunsTab } from './runs-tab.tsx';
import {
  type AppAgent,
  client,
  messageOf,
  newSessionId,
  readAgent,
  readCaller,
  readInitialState,
  setOnRefused,
  setToken,
  type ShownAgent,
} from './studio-client.ts';
import { TimeSlider } from './time-slider.tsx';
import { TraceTab } from './trace-tab.tsx';
import { useChangesElsewhere, useIsQueued } from './use-other-runs.ts';
import { useRunningSpans } from './use-running-spans.ts';
import { useVoiceCall } from './voice.tsx';
import { workflowOf } from './workflow-of.ts';

/** Reads the app, user and session in the page's address: `?app=…&user=…&session=…`. */
function placeInAddress(): Partial<SessionKey> {
  const query = new URLSearchParams(location.search);
  return Object.fromEntries(
    Object.entries({ appName: query.get('app'), userId: query.get('user'), sessionId: query.get('session') }).filter(
      ([, value]) => value,
    ),
  );
}

/** Writes the place into the address. If the address is pushed, the browser's back button returns to the previous one. */
function writeAddress({ appName, userId, sessionId }: SessionKey, action: 'push' | 'replace'): void {
  const query = new URLSearchParams(location.search);
  query.set('app', appName);
  query.set('user', userId);
  query.set('session', sessionId);
  const address = `?${query.toString()}`;
  if (action === 'push' && address !== location.search) history.pushState(null, '', address);
  else history.replaceState(null, '', address);
}

const TABS = ['events', 'state', 'artifacts', 'agents', 'trace', 'runs'] as const;
type TabName = (typeof TABS)[number];

function tabInAddress(): TabName {
  const named = new URLSearchParams(location.search).get('tab');
  return TABS.find((each) => each === named) ?? 'events';
}

function writeTab(tab: TabName): void {
  const query = new URLSearchParams(location.search);
  query.set('tab', tab);
  history.replaceState(null, '', `?${query.toString()}`);
}

export function App() {
  const [apps, setApps] = useState<readonly string[]>();
  const [error, setError] = useState<unknown>();
  const [place, setPlace] = useState<SessionKey>();
  const [hasLogin, setHasLogin] = useState(false);
  /** True if the server asks for a token. */
  const [isRefused, setRefused] = useState(false);
  /** Number of tokens that were tried. */
  const [attempt, setAttempt] = useState(0);
  /** True if the server did not accept the newest token from the beginning. */
  const [isWrong, setWrong] = useState(false);

  const goTo = useCallback((next: SessionKey) => {
    writeAddress(next, 'push');
    setPlace(next);
  }, []);
  useEffect(() => {
    const goBack = (): void => {
      const { appName, userId, sessionId } = placeInAddress();
      if (appName !== undefined && userId !== undefined && sessionId !== undefined)
        setPlace({ appName, userId, sessionId });
    };
    addEventListener('popstate', goBack);
    return () => removeEventListener('popstate', goBack);
  }, []);

  useEffect(() => setOnRefused(() => setRefused(true)), []);

  useEffect(() => {
    Promise.all([client.listApps(), readCaller()])
      .then(([names, recognized]) => {
        setError(undefined);
        setRefused(false);
        setWrong(false);
        setApps(names);
        setHasLogin(recognized !== undefined);
        const { appName = names[0] ?? '', userId: named = 'user', sessionId = newSessionId() } = placeInAddress();
        if (appName === '') return;
        // A user has no access to the sessions of another one.
        const userId = recognized ?? named;
        writeAddress({ appName, userId, sessionId }, 'replace');
        setPlace({ appName, userId, sessionId });
      })
      .catch((thrown: unknown) => {
        setError(thrown);
        setWrong(attempt > 0);
      });
  }, [attempt]);

  const tokenForm = isRefused && (
    <TokenForm
      isWrong={isWrong}
      onToken={(token) => {
        setToken(token);
        setAttempt(attempt + 1);
      }}
    />
  );
  if (tokenForm && !place)
    return (
      <main className="notice">
        <h1>Eventloom Studio</h1>
        {tokenForm}
      </main>
    );
  if (error !== undefined && !tokenForm) return <Notice title="The server does not answer" text={messageOf(error)} />;
  if (!apps) return <Notice title="Eventloom Studio" text="Loading…" />;
  if (!place)
    return <Notice title="No apps" text="The server has no runner. Give createServer({ runners: [runner] })." />;
  if (!apps.includes(place.appName))
    return (
      <Notice title={`There is no app “${place.appName}”`} text="The server has these apps:">
        <ul className="apps">
          {apps.map((appName) => (
            <li key={appName}>
              <Button className="prompt" onPress={() => goTo({ ...place, appName, sessionId: newSessionId() })}>
                {appName}
              </Button>
            </li>
          ))}
        </ul>
      </Notice>
    );
  return (
    <>
      <UserSessions
        key={`${place.appName}/${place.userId}`}
        apps={apps}
        hasLogin={hasLogin}
        place={place}
        goTo={goTo}
      />
      {/* What the person was writing stays below it. */}
      {tokenForm && (
        <ModalOverlay className="overlay" isOpen isKeyboardDismissDisabled>
          <Modal>
            <Dialog className="notice" aria-label="Sign in again">
              {tokenForm}
            </Dialog>
          </Modal>
        </ModalOverlay>
      )}
    </>
  );
}

/** Shows one session of a user, beside the list of all. */
function UserSessions(props: Omit<WorkbenchProps, 'list'>) {
  const { appName, userId, sessionId } = props.place;
  const list = useListedSessions(appName, userId);
  return <Workbench key={sessionId} list={list} {...props} />;
}

interface NoticeProps {
  readonly title: string;
  readonly text: string;
  readonly children?: ReactNode;
}

function Notice({ title, text, children }: NoticeProps) {
  return (
    <main className="notice">
      <h1>{title}</h1>
      <p>{text}</p>
      {children}
    </main>
  );
}

/** A token that a header can have. */
const SENDABLE = /^[\x21-\x7e]+$/;

/** Asks for a token if the server requires one. */
function TokenForm({ isWrong, onToken }: { readonly isWrong: boolean; readonly onToken: (token: string) => void }) {
  const [token, setText] = useState('');
  const [isTried, setTried] = useState(false);
  const isSendable = SENDABLE.test(token.trim());
  return (
    <form
      className="fields"
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        if (isSendable) onToken(token.trim());
      }}
    >
      <TextField className="field" type="password" isRequired value={token} onChange={setText}>
        <Label>Token that the server accepts. It is kept until this tab is closed.</Label>
        <Input autoComplete="off" />
      </TextField>
      {isTried && !isSendable ? (
        <p className="error" role="alert">
          A token has only letters, digits and signs of English keyboards. It may have been shortened when it was
          copied.
        </p>
      ) : (
        isWrong && (
          <p className="error" role="alert">
            The server does not accept this token.
          </p>
        )
      )}
      <Button className="primary" type="submit">
        Sign in
      </Button>
    </form>
  );
}

interface WorkbenchProps {
  readonly apps: readonly string[];
  /** True if the server knows the user, who cannot be changed then. */
  readonly hasLogin: boolean;
  readonly place: SessionKey;
  readonly goTo: (place: SessionKey) => void;
  readonly list: ListedSessions;
}

type Panel = 'sessions' | 'chat' | 'inspect';

const NO_PRICES = {};

function Workbench({ apps, hasLogin, place, goTo, list }: WorkbenchProps) {
  const agent = useAgent({ client, ...place, createSession: true });
  const { chat, status } = agent;
  // The server does not send all events of a run to a client. Events that only record its progress are read after its end.
  const lastStatus = useRef(status);
  useEffect(() => {
    const hasEnded = (lastStatus.current === 'running' || lastStatus.current === 'reconnecting') && status === 'idle';
    lastStatus.current = status;
    // The end of a stopped run is stored; other errors are shown until the person does something about them.
    if (hasEnded && (!agent.error || isStop(codeOf(agent.error)))) void chat.load();
  }, [status, agent.error, chat]);
  /** Events of a voice call, until the session is read after the call. After a lost connection also those that the session has. */
  const [spoken, setSpoken] = useState<readonly Event[]>([]);
  const call = useVoiceCall(place, setSpoken, () => void chat.load());
  // The session has the events of the call once it was read after it.
  const lastEvents = useRef(agent.events);
  useEffect(() => {
    if (agent.events !== lastEvents.current && call.status === 'idle')
      setSpoken((before) => (before.length === 0 ? before : []));
    lastEvents.current = agent.events;
  }, [agent.events, call.status]);
  const events = useMemo(() => {
    const known = new Set(agent.events.map(({ id }) => id));
    const added = spoken.filter((event) => event.partial !== true && !known.has(event.id) && !isSound(event));
    return added.length === 0 ? agent.events : [...agent.events, ...added];
  }, [agent.events, spoken]);
  const now = useMemo(() => {
    const known = new Set(agent.events.map(({ id }) => id));
    return spoken.length === 0
      ? agent.conversation
      : reduceEvents(
          agent.conversation,
          spoken.filter(({ id }) => !known.has(id)),
        );
  }, [agent.events, agent.conversation, spoken]);
  useChangesElsewhere(agent, spoken.length === 0 && call.status === 'idle');
  const isQueued = useIsQueued(agent);
  const [tab, setTab] = useState(tabInAddress);
  /** Number of events that are shown; undefined shows all events, including new ones. */
  const [position, setPosition] = useState<number>();
  const [selectedId, setSelectedId] = useState<string>();
  /** The artifact that the person chose in the chat or in an event. */
  const [artifact, setArtifact] = useState<SavedArtifact>();
  /** The run that the trace shows; undefined: the newest. */
  const [tracedRun, setTracedRun] = useState<string>();
  const workbench = useRef<HTMLElement>(null);
  const [view, setView] = useState<Panel>('chat');
  const [root, setRoot] = useState<AppAgent>();
  const [rootError, setRootError] = useState<string>();
  const { appName, userId } = place;
  useEffect(() => {
    readAgent(appName, userId)
      .then(setRoot)
      .catch((thrown: unknown) => setRootError(messageOf(thrown)));
  }, [appName, userId]);
  // The slider moves immediately; the view follows when there is time.
  const shownPosition = useDeferredValue(position);
  const isPast = shownPosition !== undefined && shownPosition < events.length;
  const shownEvents = useMemo(
    () => (isPast ? events.slice(0, shownPosition) : events),
    [events, isPast, shownPosition],
  );
  const isStored = events.some(({ id }) => !id.startsWith('local-'));
  const initialState = useInitialState(place, isPast || (tab === 'state' && isStored));
  const before = useMemo(
    () => (isPast ? stateBefore(now.state, events, initialState) : undefined),
    [isPast, now.state, events, initialState],
  );
  const conversation = useMemo(
    () => (before ? reduceEvents({ ...emptyConversation, state: before }, shownEvents) : now),
    [before, shownEvents, now],
  );

  const saves = useMemo(() => events.filter((event) => artifactsIn(event).length > 0).length, [events]);
  const storedArtifacts = useStoredArtifacts(place, saves, saves > 0 || tab === 'artifacts');

  const [forkError, setForkError] = useState<string>();
  const isRunning = status === 'running' || status === 'reconnecting';
  const count = isPast ? shownPosition : events.length;
  const next = isPast ? events[shownPosition] : undefined;
  const isInsideRun = next !== undefined && next.invocationId === shownEvents.at(-1)?.invocationId;

  const activeAgents = useActiveAgents(
    place,
    conversation,
    isRunning && !isPast,
    isPast ? agentAtWork(events, shownPosition) : undefined,
    root,
    (isRunning && !isPast) || shownEvents.some(({ author }) => author !== 'user'),
  );
  const showRequest = useCallback(() => {
    flushSync(() => {
      setPosition(undefined);
      setView('chat');
    });
    const form = workbench.current?.querySelector<HTMLDetailsElement>('.request[data-answered=false]');
    if (!form) return;
    // The person may have folded it.
    form.open = true;
    form.querySelector('summary')?.focus();
  }, []);
  const readAgain = useCallback(() => void chat.load(), [chat]);
  const showTab = useCallback((chosen: TabName) => {
    writeTab(chosen);
    setTab(chosen);
    setView('inspect');
  }, []);
  const showEvent = useCallback(
    (id: string) => {
      setSelectedId(id);
      showTab('events');
    },
    [showTab],
  );
  const showTrace = useCallback(
    (invocationId: string) => {
      setTracedRun(invocationId);
      showTab('trace');
    },
    [showTab],
  );

  const showArtifact = useCallback(
    (saved: SavedArtifact) => {
      // A new object, because the person may choose the same one again.
      setArtifact({ ...saved });
      showTab('artifacts');
    },
    [showTab],
  );

  const fork = useCallback(async () => {
    const last = shownEvents.at(-1);
    if (!last) return;
    try {
      setForkError(undefined);
      const session = await chat.session.fork(await storedId(chat.session, last));
      goTo({ ...place, sessionId: session.id });
    } catch (thrown) {
      setForkError(`The session was not forked: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    }
  }, [goTo, place, chat, shownEvents]);

  return (
    <main className="workbench" data-view={view} ref={workbench}>
      <h1 className="visually-hidden">Eventloom Studio</h1>
      <nav className="views" aria-label="Views">
        {(['sessions', 'chat', 'inspect'] as const).map((name) => (
          <Button
            key={name}
            className="view-button"
            data-view={name}
            aria-pressed={view === name}
            onPress={() => setView(name)}
          >
            {name}
          </Button>
        ))}
      </nav>
      <SessionList
        apps={apps}
        hasLogin={hasLogin}
        place={place}
        goTo={goTo}
        list={list}
        events={events}
        isRunning={isRunning}
      />
      <section className="middle" aria-label="Chat">
        <Chat
          place={place}
          agent={agent}
          conversation={conversation}
          events={shownEvents}
          agentNames={activeAgents}
          isPast={isPast}
          isQueued={isQueued}
          root={root}
          call={call}
          storedArtifacts={storedArtifacts}
          onSelectEvent={showEvent}
          onTrace={showTrace}
          onShowArtifact={showArtifact}
        />
        {forkError !== undefined && (
          <p className="error" role="alert">
            {forkError}
          </p>
        )}
        <TimeSlider count={events.length} position={position} onChange={setPosition} events={events} onFork={fork} />
      </section>
      <section className="inspector" aria-label="Inspector">
        <InspectorHandle workbench={workbench} />
        <Tabs
          className="tabs"
          selectedKey={tab}
          onSelectionChange={(key) => {
            const chosen = TABS.find((each) => each === key) ?? 'events';
            writeTab(chosen);
            setTab(chosen);
          }}
        >
          <TabList aria-label="Inspector" className="tab-list">
            <Tab id="events">Events</Tab>
            <Tab id="state">State</Tab>
            <Tab id="artifacts">Artifacts</Tab>
            <Tab id="agents">Agents</Tab>
            <Tab id="trace">Trace</Tab>
            <Tab id="runs">Runs</Tab>
          </TabList>
          <TabPanel id="events" className="tab-panel">
            <ErrorBoundary value={events}>
              <EventsTab
                events={events}
                count={count}
                selectedId={selectedId}
                onSelect={setSelectedId}
                onShowAt={setPosition}
                onShowArtifact={showArtifact}
              />
            </ErrorBoundary>
          </TabPanel>
          <TabPanel id="state" className="tab-panel">
            <ErrorBoundary value={shownEvents}>
              <StateTab
                events={events}
                count={count}
                selectedId={selectedId}
                state={conversation.state}
                initialState={initialState}
                place={place}
                onStored={readAgain}
                onSelectEvent={showEvent}
              />
            </ErrorBoundary>
          </TabPanel>
          <TabPanel id="artifacts" className="tab-panel">
            <ErrorBoundary value={shownEvents}>
              <ArtifactsTab place={place} events={events} count={count} selected={artifact} stored={storedArtifacts} />
            </ErrorBoundary>
          </TabPanel>
          <TabPanel id="agents" className="tab-panel">
            <ErrorBoundary value={shownEvents}>
              <AgentsTab
                place={place}
                root={root}
                error={rootError}
                events={shownEvents}
                activeAgents={activeAgents}
                isRunning={isPast ? isInsideRun && next.author !== 'user' : isRunning}
                isPast={isPast}
              />
            </ErrorBoundary>
          </TabPanel>
          <TabPanel id="trace" className="tab-panel">
            <ErrorBoundary value={shownEvents}>
              <TraceTab
                place={place}
                events={shownEvents}
                until={isPast ? events[shownPosition]?.timestamp : undefined}
                prices={root?.prices ?? NO_PRICES}
                currency={root?.currency}
                count={events.length}
                isRunning={isRunning}
                chosen={tracedRun}
                onChoose={setTracedRun}
              />
            </ErrorBoundary>
          </TabPanel>
          <TabPanel id="runs" className="tab-panel">
            <ErrorBoundary value={place}>
              <RunsTab place={place} goTo={goTo} status={status} onAnswer={showRequest} />
            </ErrorBoundary>
          </TabPanel>
        </Tabs>
      </section>
    </main>
  );
}

/** True for a piece of speech of a call, of which there are many a second. The session does not have them. */
function isSound({ content, actions }: Event): boolean {
  const { parts = [] } = content ?? {};
  const hasEffect = Object.keys(actions.stateDelta).length > 0;
  return (
    parts.length > 0 && !hasEffect && parts.every(({ inlineData }) => inlineData?.mimeType?.startsWith('audio/pcm'))
  );
}

/** Returns the id of an event on the server. A message that was sent and not read from the server yet has another id in the page. */
async function storedId(session: ClientSession, { id, invocationId, author }: Event): Promise<string> {
  if (!id.startsWith('local-')) return id;
  const { events } = await session.get();
  const stored = events.find((event) => event.invocationId === invocationId && event.author === author);
  if (!stored) throw new TypeError('the server does not have the message yet');
  return stored.id;
}

/**
 * Returns the agents that work: those that stream text or wait for a tool, and agents that are called as tools,
 * otherwise the one that spoke last.
 * @param next the agent that works at an earlier moment
 * @param hasBegun true if a run has begun: the root agent works until an agent speaks, and a graph may end without a message
 */
function useActiveAgents(
  place: SessionKey,
  { messages, activeAgent }: Conversation,
  isRunning: boolean,
  next: string | undefined,
  root: ShownAgent | undefined,
  hasBegun: boolean,
) {
  const called = useMemo(() => new Set(root && calledAgentsOf(root)), [root]);
  const run = messages.at(-1)?.invocationId;
  const working = isRunning ? messages.filter((message) => message.invocationId === run && isWorking(message)) : [];
  // The last author in a workflow is a node that is done, and the one that works now may not have spoken.
  const workflow = isRunning && activeAgent !== undefined && root ? workflowOf(activeAgent, root) : undefined;
  const last = next ?? workflow ?? activeAgent ?? (hasBegun ? root?.name : undefined);
  const calls = working.flatMap(({ parts }) => parts.flatMap((part) => (isRunningCall(part) ? part.name : [])));
  const inTools = calls.filter((name) => called.has(name));
  const spans = useRunningSpans(place, inTools.length > 0);
  const inner = spans.flatMap(({ kind, attributes }) =>
    kind === 'model' || kind === 'tool' ? String(attributes['gen_ai.agent.name']) : [],
  );
  const names =
    working.length > 0
      ? Array.from(new Set([...working.map(({ author }) => author), ...inTools, ...inner]))
      : last === undefined
        ? []
        : [last];
  // The same list while the same agents work, because each chunk makes a new conversation.
  const key = names.join('\n');
  return useMemo(() => (key === '' ? [] : key.split('\n')), [key]);
}

function isWorking({ status, parts }: Message): boolean {
  return status === 'streaming' || parts.some(isRunningCall);
}

function isRunningCall(part: MessagePart): part is CallPart {
  return part.type === 'call' && part.status === 'running';
}

/** Returns the names of the agents that an agent and those below it call as tools. */
function calledAgentsOf({ subAgents, calledAgents }: ShownAgent): string[] {
  return [...calledAgents.map(({ name }) => name), ...[...subAgents, ...calledAgents].flatMap(calledAgentsOf)];
}

/** Reads the state with which a session began when it is needed. Returns undefined until then, and if it cannot be read. */
function useInitialState({ appName, userId, sessionId }: SessionKey, isNeeded: boolean): StateValues | undefined {
  const [state, setState] = useState<StateValues>();
  useEffect(() => {
    if (!isNeeded) return undefined;
    let isLeft = false;
    readInitialState({ appName, userId, sessionId })
      .then((read) => {
        if (!isLeft) setState(read);
      })
      // The state of the past is then shown without the keys that an event changed later.
      .catch((error: unknown) => console.warn(error));
    return () => {
      isLeft = true;
    };
  }, [appName, userId, sessionId, isNeeded]);
  return state;
}
