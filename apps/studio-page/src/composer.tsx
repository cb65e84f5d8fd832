import { useEffect, useRef, useState } from 'react';
import { filePart } from '@eventloom/client';
import type { Part, SessionKey } from '@eventloom/core';
import { Button, TextArea, TextField } from 'react-aria-components';
import { VoiceBar, type VoiceCall } from './voice.tsx';

interface ComposerProps {
  readonly place: SessionKey;
  readonly isDisabled: boolean;
  readonly isRunning: boolean;
  /** True if the agent's model can run live. */
  readonly canSpeak: boolean;
  readonly call: VoiceCall;
  readonly onSend: (parts: readonly Part[]) => void;
  readonly onStop: () => void;
}

/** Maximum size of all files of a message together, in bytes. The server's default limit of a body is larger. */
const MAX_FILE_BYTES = 10 * 1024 * 1024;

/** Shows the field for a message with its files, and the actions of the person. */
export function Composer({ place, isDisabled, isRunning, canSpeak, call, onSend, onStop }: ComposerProps) {
  const [text, setText] = useDraft(place);
  const [files, setFiles] = useState<readonly File[]>([]);
  const [error, setError] = useState<string>();
  /** True while the files of a message are read. Enter would send them a second time. */
  const isReading = useRef(false);
  const input = useRef<HTMLInputElement>(null);
  const box = useRef<HTMLTextAreaElement>(null);
  const canType = !isDisabled || isRunning;
  useEffect(() => {
    const { activeElement } = document;
    // The element that had the focus is gone, such as a button of another session, or disabled, such as Approve during the run: the browser
    // takes the focus from it when it draws.
    const isLost = activeElement === document.body || activeElement?.matches(':disabled');
    // On a screen for fingers the focus opens a keyboard.
    if (canType && isLost && !matchMedia('(hover: none)').matches) box.current?.focus({ preventScroll: true });
  }, [canType, isRunning]);

  const isDropping = useDroppedFiles((dropped) => {
    if (!isDisabled) setFiles((before) => [...before, ...dropped]);
  });

  const submit = async (): Promise<void> => {
    if (isDisabled || isReading.current || (text.trim() === '' && files.length === 0)) return;
    if (files.reduce((sum, file) => sum + file.size, 0) > MAX_FILE_BYTES) {
      setError('The files have more than 10 MB together. Send fewer.');
      return;
    }
    const empty = files.find(({ size }) => size === 0);
    if (empty) {
      setError(`The file ${empty.name} is empty. Remove it.`);
      return;
    }
    setError(undefined);
    let attached: readonly Part[];
    isReading.current = true;
    try {
      attached = await Promise.all(files.map(toPart));
    } catch (thrown) {
      setError(thrown instanceof Error ? thrown.message : String(thrown));
      return;
    } finally {
      isReading.current = false;
    }
    onSend([...(text.trim() === '' ? [] : [{ text }]), ...attached]);
    // What the person added while the files were read stays.
    setText((now) => (now === text ? '' : now));
    setFiles((now) => now.filter((file) => !files.includes(file)));
  };

  if (call.status !== 'idle') return <VoiceBar call={call} />;
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onPaste={({ clipboardData }) => {
        if (clipboardData.files.length > 0) setFiles([...files, ...clipboardData.files]);
      }}
      data-dropping={isDropping}
    >
      {files.length > 0 && (
        <ul className="attached">
          {files.map((file, index) => (
            <li key={index}>
              {file.name}{' '}
              <Button
                className="link"
                aria-label={`Remove ${file.name}`}
                onPress={() => setFiles(files.filter((other) => other !== file))}
              >
                ×
              </Button>
            </li>
          ))}
        </ul>
      )}
      {(error ?? call.error) !== undefined && (
        <p className="error" role="alert">
          {error ?? call.error}
        </p>
      )}
      <div className="row">
        <input
          ref={input}
          type="file"
          multiple
          hidden
          onChange={({ target }) => setFiles([...files, ...(target.files ?? [])])}
        />
        <Button
          className="quiet"
          aria-label="Attach files"
          isDisabled={isDisabled}
          onPress={() => input.current?.click()}
        >
          +
        </Button>
        <TextField
          className="grow"
          aria-label="Message"
          value={text}
          onChange={setText}
          isDisabled={isDisabled && !isRunning}
        >
          <TextArea
            ref={box}
            dir="auto"
            rows={Math.min(8, text.split('\n').length)}
            placeholder={isDisabled && !isRunning ? 'Go back to now to write' : 'Message'}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
              event.preventDefault();
              void submit();
            }}
          />
        </TextField>
        {isRunning ? (
          <Button className="danger" onPress={onStop}>
            Stop
          </Button>
        ) : (
          <>
            {canSpeak && (
              <Button className="quiet" isDisabled={isDisabled} onPress={() => void call.start()}>
                Speak
              </Button>
            )}
            <Button className="primary" type="submit" isDisabled={isDisabled}>
              Send
            </Button>
          </>
        )}
      </div>
    </form>
  );
}

/** Keeps the text that the person is writing in a session while they look at another one, and when the page is loaded again. */
function useDraft({ appName, userId, sessionId }: SessionKey) {
  const key = `draft ${JSON.stringify([appName, userId, sessionId])}`;
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? '');
  useEffect(() => {
    try {
      if (text === '') sessionStorage.removeItem(key);
      else sessionStorage.setItem(key, text);
    } catch {
      // The browser has no room for a text of this length.
    }
  }, [key, text]);
  return [text, setText] as const;
}

/**
 * Takes files that are dropped anywhere on the page. The browser would leave the page to show them. Returns true while the person drags a
 * file over the page.
 */
function useDroppedFiles(onDrop: (files: FileList) => void): boolean {
  const [isDropping, setDropping] = useState(false);
  const newest = useRef(onDrop);
  newest.current = onDrop;
  useEffect(() => {
    const listening = new AbortController();
    const { signal } = listening;
    const hasFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes('Files') === true;
    const over = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setDropping(true);
    };
    addEventListener('dragover', over, { signal });
    // Without a related target the pointer has left the page.
    addEventListener('dragleave', ({ relatedTarget }) => relatedTarget ?? setDropping(false), { signal });
    addEventListener(
      'drop',
      (event) => {
        setDropping(false);
        if (!hasFiles(event)) return;
        event.preventDefault();
        if (event.dataTransfer) newest.current(event.dataTransfer.files);
      },
      { signal },
    );
    return () => listening.abort();
  }, []);
  return isDropping;
}

async function toPart(file: File): Promise<Part> {
  try {
    return await filePart(file);
  } catch (cause) {
    const text = `The file ${file.name} cannot be read: it was changed or deleted, or is a folder. Attach it again.`;
    throw new TypeError(text, { cause });
  }
}
