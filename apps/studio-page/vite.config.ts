import { RECORDER_SCRIPT } from '@eventloom/client/live';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  // Relative, so that the page works behind a prefix.
  base: './',
  plugins: [
    react(),
    {
      // The content security policy allows no script of the page's own making, and the microphone needs one.
      name: 'recorder',
      generateBundle() {
        this.emitFile({ type: 'asset', fileName: 'recorder.js', source: RECORDER_SCRIPT });
      },
    },
  ],
  // The package that serves the page is published with it.
  build: { outDir: '../../packages/studio/dist/page', emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0 },
});
