import { useCallback, useEffect, useMemo, useState } from 'react';
import type { Session } from '@eventloom/core';
import { Button, Tab, TabList, TabPanel, Tabs } from 'react-aria-components';
import { emptyConversation, reduceEvents } from '@eventloom/client';
import { useAgent } from '@eventloom/client/react';
import { AgentsTab } from './agents-tab.tsx';
import { ArtifactsTab } from './artifacts-tab.tsx';
import { Chat } from './chat.tsx';
import { EventsTab } from './events-tab.tsx';
import { SessionList } from './session-list.tsx';
import { StateTab } from './state-tab.tsx';
import { type AppAgent, client, readAgent } from './studio-client.ts';
import { TimeSlider } from './time-slider.tsx';
import { TraceTab } from './trace-tab.tsx';

/** The place that the page shows, in its address: `?app=…&user=…&session=…`. */
export interface Place {
  readonly appName: string;
  readonly userId: string;
  readonly sessionId: string;
}

function placeInAddress(): Partial<Place> {
  const query = new URLSearchParams(location.search);
  return Object.fromEntries(
    Object.entries({ appName: query.get('app'), userId: query.get('user'), sessionId: query.get('session') }).filter(
      ([, value]) => value,
    ),
  );
}

function writeAddress({ appName, userId, sessionId }: Place): void {
  const query = new URLSearchParams({ app: appName, user: userId, session: sessionId });
  history.replaceState(null, '', `?${query.toString()}`);
}

/** A new id for a session, short enough to read aloud. */
function newSessionId(): string {
  return crypto.randomUUID().slice(0, 8);
}

export function App() {
  const [apps, setApps] = useState<readonly string[]>();
  const [error, setError] = useState<string>();
  const [place, setPlace] = useState<Place>();

  const goTo = useCallback((next: Place) => {
    writeAddress(next);
    setPlace(next);
  }, []);

  useEffect(() => {
    client
      .listApps()
      .then((names) => {
        setApps(names);
        const { appName = names[0] ?? '', userId = 'user', sessionId = newSessionId() } = placeInAddress();
        if (appName !== '') goTo({ appName, userId, sessionId });
      })
      .catch((thrown: unknown) => setError(String(thrown)));
  }, [goTo]);

  if (error !== undefined) return <Notice title="The server does not answer" text={error} />;
  if (!apps) return <Notice title="Eventloom Studio" text="Loading…" />;
  if (!place)
    return <Notice title="No apps" text="The server has no runner. Give createServer({ runners: [runner] })." />;
  return (
    <Workbench key={`${place.appName}/${place.userId}/${place.sessionId}`} apps={apps} place={place} goTo={goTo} />
  );
}

function Notice({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <main className="notice">
      <h1>{title}</h1>
      <p>{text}</p>
    </main>
  );
}

interface WorkbenchProps {
  readonly apps: readonly string[];
  readonly place: Place;
  readonly goTo: (place: Place) => void;
}

type View = 'sessions' | 'chat' | 'inspect';

function Workbench({ apps, place, goTo }: WorkbenchProps) {
  const agent = useAgent({ client, ...place, createSession: true });
  const { events, status } = agent;
  /** Number of events that are shown; undefined shows all, and those that come. */
  const [position, setPosition] = useState<number>();
  const [selectedId, setSelectedId] = useState<string>();
  const [view, setView] = useState<View>('chat');
  const [root, setRoot] = useState<AppAgent>();
  const [rootError, setRootError] = useState<string>();
  const { appName, userId } = place;
  useEffect(() => {
    readAgent(appName, userId)
      .then(setRoot)
      .catch((thrown: unknown) => setRootError(String(thrown)));
  }, [appName, userId]);
  const isPast = position !== undefined && position < events.length;
  const shownEvents = useMemo(() => (isPast ? events.slice(0, position) : events), [events, isPast, position]);
  const conversation = useMemo(
    () => (isPast ? reduceEvents(emptyConversation, shownEvents) : agent.conversation),
    [isPast, shownEvents, agent.conversation],
  );

  const fork = useCallback(async () => {
    const sessionId = newSessionId();
    const kept = shownEvents.filter(({ actions }) => actions.compaction === undefined);
    const session: Session = await client.createSession({ appName, userId }, { sessionId, events: kept });
    goTo({ ...place, sessionId: session.id });
  }, [goTo, place, appName, userId, shownEvents]);

  return (
    <div className="workbench" data-view={view}>
      <nav className="views" aria-label="Views">
        {(['sessions', 'chat', 'inspect'] as const).map((name) => (
          <Button key={name} className="view-button" aria-pressed={view === name} onPress={() => setView(name)}>
            {name}
          </Button>
        ))}
      </nav>
      <SessionList apps={apps} place={place} goTo={goTo} isRunning={status !== 'idle'} newId={newSessionId} />
      <main className="middle">
        <Chat
          agent={agent}
          conversation={conversation}
          isPast={isPast}
          prompts={root?.prompts ?? []}
          onFork={fork}
          onSelectEvent={(id) => {
            setSelectedId(id);
            setView('inspect');
          }}
        />
        <TimeSlider count={events.length} position={position} onChange={setPosition} events={events} onFork={fork} />
      </main>
      <aside className="inspector" aria-label="Inspector">
        <Tabs defaultSelectedKey="events" className="tabs">
          <TabList aria-label="Inspector" className="tab-list">
            <Tab id="events">Events</Tab>
            <Tab id="state">State</Tab>
            <Tab id="artifacts">Artifacts</Tab>
            <Tab id="agents">Agents</Tab>
            <Tab id="trace">Trace</Tab>
          </TabList>
          <TabPanel id="events" className="tab-panel">
            <EventsTab events={shownEvents} selectedId={selectedId} onSelect={setSelectedId} onShowAt={setPosition} />
          </TabPanel>
          <TabPanel id="state" className="tab-panel">
            <StateTab events={shownEvents} selectedId={selectedId} state={conversation.state} />
          </TabPanel>
          <TabPanel id="artifacts" className="tab-panel">
            <ArtifactsTab place={place} events={shownEvents} />
          </TabPanel>
          <TabPanel id="agents" className="tab-panel">
            <AgentsTab
              place={place}
              root={root}
              error={rootError}
              events={shownEvents}
              activeAgent={conversation.activeAgent}
              isRunning={status !== 'idle' && !isPast}
            />
          </TabPanel>
          <TabPanel id="trace" className="tab-panel">
            <TraceTab events={shownEvents} />
          </TabPanel>
        </Tabs>
      </aside>
    </div>
  );
}
