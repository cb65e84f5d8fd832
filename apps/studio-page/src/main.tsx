import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { applyStoredColors } from './colors-button.tsx';
import { ErrorBoundary } from './error-boundary.tsx';
import './styles.css';

applyStoredColors();
const root = document.querySelector('#root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <ErrorBoundary value={undefined} fallback={<a href="./">Open another session</a>}>
        <App />
      </ErrorBoundary>
    </StrictMode>,
  );
}
