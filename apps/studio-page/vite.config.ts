import { RECORDER_SCRIPT } from '@eventloom/client/live';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  // Relative, so that the page also works behind a path prefix.
  base: './',
  plugins: [
    react(),
    {
      // The content security policy allows no inline scripts, and the microphone needs one.
      name: 'recorder',
      generateBundle() {
        this.emitFile({ type: 'asset', fileName: 'recorder.js', source: RECORDER_SCRIPT });
      },
    },
  ],
  // The output folder is in the package that serves the page.
  build: { outDir: '../../packages/studio/dist/page', emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0 },
});
