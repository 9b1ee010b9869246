import { packageVersion } from '../server/package-version.ts';
import { useEngineFlags } from './engine-flags.ts';
import { leaveProcess } from './leave-process.ts';
import { type CommandLine, parseCommandLine } from './parse-command-line.ts';
import { renderHelp } from './render-help.ts';
import { UsageError } from './usage-error.ts';

const readCommandLine = (args: readonly string[]): CommandLine | undefined => {
  try {
    return parseCommandLine(args);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    // The reason comes last, where the eye is.
    process.stderr.write(`Usage: weir [serve] [options]\nSee weir --help for the options.\n\n${error.message}\n`);
    return undefined;
  }
};

/** Does what the arguments say. A server that was started has ended when this resolves; the process does not outlive it. */
export const runCommand = async (args: readonly string[]): Promise<void> => {
  const commandLine = readCommandLine(args);
  if (commandLine === undefined) {
    process.exitCode = 1;
    return;
  }
  if (commandLine.action !== 'serve') {
    process.stdout.write(commandLine.action === 'help' ? renderHelp() : `weir ${packageVersion}\n`);
    return;
  }
  useEngineFlags();
  // Only now, since a server is much more to load than a text.
  const { serve } = await import('./serve.ts');
  leaveProcess(await serve(commandLine.settings, commandLine.warnings));
};
