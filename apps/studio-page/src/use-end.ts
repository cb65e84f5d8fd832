import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef } from 'react';

/** A conversation that ends nearer to the lower edge than this, in pixels, follows its end once the reader scrolls down. */
const NEAR = 80;

/** Positions are fractions of a pixel on some screens, and heights are whole numbers. */
const TOLERANCE = 2;

/** The elements of a conversation that shows its end until the reader scrolls up. */
interface ShownEnd {
  /** The box that scrolls. */
  readonly scroller: RefObject<HTMLDivElement | null>;
  /** Everything inside the box. */
  readonly content: RefObject<HTMLDivElement | null>;
  /** The forms at the end. If they are taller than the box, they are shown from the first one without an answer, where its question is. */
  readonly forms: RefObject<HTMLDivElement | null>;
  readonly onScroll: () => void;
  /** Shows the end from now on. */
  readonly follow: () => void;
  /** Stays where it is, until the reader scrolls to the end. */
  readonly stay: () => void;
}

/**
 * Shows the end of a conversation, whatever changes its height: new content, pictures that load, messages that the
 * browser measures only when they are visible, or a box of another size.
 *
 * @param changes the values whose change adds content
 */
export function useEnd(changes: readonly unknown[]): ShownEnd {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const forms = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  const lastTop = useRef(0);
  // Before the browser draws, so that it never reports a position at which the new content is not shown.
  useLayoutEffect(() => {
    if (isFollowing.current) showEnd(scroller.current, unanswered(forms.current));
  }, changes);
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      const box = scroller.current;
      // The reader may be at the end of a tall form.
      if (isFollowing.current && box && !isTall(unanswered(forms.current), box)) showEnd(box, undefined);
    });
    for (const element of [scroller.current, content.current]) if (element) observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const onScroll = useCallback(() => {
    const box = scroller.current;
    if (!box) return;
    const gap = box.scrollHeight - box.scrollTop - box.clientHeight;
    // Only the reader scrolls up, or the browser does when the content becomes shorter, which leaves no gap.
    const isUp = box.scrollTop < lastTop.current;
    isFollowing.current = gap < (isUp ? TOLERANCE : NEAR) || (isFollowing.current && !isUp);
    lastTop.current = box.scrollTop;
  }, []);
  const follow = useCallback(() => {
    isFollowing.current = true;
  }, []);
  const stay = useCallback(() => {
    isFollowing.current = false;
  }, []);
  return { scroller, content, forms, onScroll, follow, stay };
}

/** Returns the first form without an answer; undefined if there is none. */
function unanswered(forms: HTMLElement | null): Element | undefined {
  return forms?.querySelector(':scope > [data-answered=false]') ?? undefined;
}

/** True if a form and everything below it do not fit into the box. */
function isTall(form: Element | undefined, box: HTMLElement): boolean {
  const end = form?.parentElement?.getBoundingClientRect().bottom;
  return form !== undefined && end !== undefined && end - form.getBoundingClientRect().top > box.clientHeight;
}

function showEnd(box: HTMLElement | null, form: Element | undefined): void {
  if (!box) return;
  box.scrollTop = box.scrollHeight;
  if (isTall(form, box)) form?.scrollIntoView({ block: 'start' });
}
