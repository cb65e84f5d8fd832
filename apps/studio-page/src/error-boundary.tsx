import { Component, type ReactNode } from 'react';
import { messageOf } from './studio-client.ts';

interface ErrorBoundaryProps {
  /** The value that is drawn. The children are drawn again when it changes. */
  readonly value: unknown;
  /** Drawn in place of the children. Default: nothing but the error. */
  readonly fallback?: ReactNode;
  readonly children: ReactNode;
}

interface ErrorBoundaryState {
  readonly value: unknown;
  /** Undefined if the children can be drawn. */
  readonly failure: { readonly error: unknown } | undefined;
}

/** Shows an error in place of children that cannot be drawn. Without it, React would remove the whole page. */
export class ErrorBoundary extends Component<ErrorBoundaryProps, ErrorBoundaryState> {
  override state: ErrorBoundaryState = { value: this.props.value, failure: undefined };

  static getDerivedStateFromError(error: unknown): Partial<ErrorBoundaryState> {
    return { failure: { error } };
  }

  static getDerivedStateFromProps(
    { value }: ErrorBoundaryProps,
    state: ErrorBoundaryState,
  ): ErrorBoundaryState | undefined | null {
    return Object.is(value, state.value) ? null : { value, failure: undefined };
  }

  override render(): ReactNode {
    const { failure } = this.state;
    if (!failure) return this.props.children;
    return (
      <div className="not-drawn">
        <p className="error" role="alert">
          This cannot be shown: {messageOf(failure.error)}
        </p>
        {this.props.fallback}
      </div>
    );
  }
}
