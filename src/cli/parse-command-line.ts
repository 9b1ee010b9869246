import { parseArgs } from 'node:util';
import { type Draft, defaultSettings, type ServerSettings } from '../server/settings.ts';
import { checkSettings } from './check-settings.ts';
import type { Flag } from './flag.ts';
import { flagsByPrefix, nearestName } from './flag-names.ts';
import { flags } from './flags.ts';
import { UsageError } from './usage-error.ts';

export type CommandLine =
  | { readonly action: 'help' | 'version' }
  | { readonly action: 'serve'; readonly settings: ServerSettings; readonly warnings: readonly string[] };

interface GivenFlag {
  readonly flag: Flag;
  readonly value: string;
}

const meant = flagsByPrefix(flags);

// parseArgs reads GNU's forms but no shortened names: it is told every short form as a name of its own.
const names = Object.fromEntries(
  [...meant]
    .filter(([, all]) => all.length === 1)
    .map(([name, [flag]]) => [name, { type: flag?.argument === '' ? 'boolean' : 'string' } as const]),
);

const resolveFlag = (name: string, rawName: string): Flag => {
  const candidates = rawName.startsWith('--') ? (meant.get(name) ?? []) : [];
  const [flag, another] = candidates;
  if (another !== undefined) {
    throw new UsageError(`Ambiguous option: "${rawName}". It may be ${candidates.map((each) => `--${each.name}`).join(', ')}`);
  }
  if (flag !== undefined) return flag;
  const nearest = nearestName(name, flags);
  throw new UsageError(`Unknown option: "${rawName}".${nearest === undefined ? '' : ` Did you mean --${nearest}?`}`);
};

const badOption = (flag: Flag, text: string): UsageError => new UsageError(`Bad option: "--${flag.name}".\n${text}`);

const givenFlag = (flag: Flag, value: string | undefined): GivenFlag => {
  if (flag.argument === '' && value !== undefined) throw badOption(flag, `this option takes no value. Got ${value}`);
  if (flag.argument !== '' && value === undefined) throw badOption(flag, `this option needs a value: ${flag.argument}`);
  return { flag, value: value ?? '' };
};

const readFlags = (args: readonly string[]): readonly GivenFlag[] => {
  const { tokens } = parseArgs({ args: [...args], options: names, strict: false, allowPositionals: true, tokens: true });
  const given: GivenFlag[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') throw new UsageError(`Unexpected argument: ${token.value}`);
    if (token.kind === 'option') given.push(givenFlag(resolveFlag(token.name, token.rawName), token.value));
  }
  return given;
};

const refuseNotBuilt = ({ flag, value }: GivenFlag, accepted: readonly string[]): void => {
  if (accepted.some((each) => each.toLowerCase() === value.toLowerCase())) return;
  const [first] = accepted;
  const instead = first === undefined ? '' : `; accepted: --${flag.name}=${first}`;
  throw badOption(flag, `--${flag.name}${value === '' ? '' : `=${value}`} is not built yet in Weir${instead}`);
};

const applyFlag = ({ flag, value }: GivenFlag, settings: Draft<ServerSettings>): void => {
  try {
    flag.apply(value, settings);
  } catch (error) {
    if (error instanceof UsageError) throw badOption(flag, error.message);
    throw error;
  }
};

const noEffectWarnings = (given: readonly GivenFlag[]): readonly string[] =>
  given.flatMap(({ flag, value }) =>
    flag.support.kind === 'no effect' && value !== flag.default ? [`--${flag.name} has no effect: ${flag.support.reason}`] : [],
  );

/** Two ways to the same cache, of which Triton takes one. @throws UsageError */
const settleCacheSize = (given: readonly GivenFlag[]): readonly string[] => {
  const size = given.findLast(({ flag }) => flag.name === 'response-cache-byte-size');
  if (size === undefined) return [];
  if (given.some(({ flag }) => flag.name === 'cache-config')) {
    throw new UsageError(
      'Error: Incompatible flags --response-cache-byte-size and --cache-config both provided. Please provide one or the other.',
    );
  }
  return [`--response-cache-byte-size is deprecated: use --cache-config=local,size=${size.value}`];
};

/** Resources that nobody counts. */
const settleResources = ({ models }: ServerSettings): readonly string[] =>
  models.rateLimit.mode === 'off' && models.rateLimit.resources.length > 0
    ? ['--rate-limit-resource has no effect: it belongs to --rate-limit=execution_count']
    : [];

/** What Triton says about its deprecated flag, in its words; and the newer flag wins over it. */
const settleStrictModelConfig = (given: readonly GivenFlag[], settings: Draft<ServerSettings>): readonly string[] => {
  if (!given.some(({ flag }) => flag.name === 'strict-model-config')) return [];
  const warnings = ["Warning: '--strict-model-config' has been deprecated! Please use '--disable-auto-complete-config' instead."];
  const disabled = given.some(({ flag }) => flag.name === 'disable-auto-complete-config');
  const strict = given.findLast(({ flag }) => flag.name === 'strict-model-config');
  if (disabled && strict !== undefined) {
    const check = defaultSettings();
    strict.flag.apply(strict.value, check);
    if (check.models.autoCompleteConfig) {
      warnings.push(
        "Warning: Overriding deprecated '--strict-model-config' from False to True in favor of '--disable-auto-complete-config'!",
      );
    }
    settings.models.autoCompleteConfig = false;
  }
  return warnings;
};

/**
 * Reads the arguments after the command's name. A leading `serve` changes nothing.
 *
 * @throws UsageError
 */
export const parseCommandLine = (args: readonly string[]): CommandLine => {
  const given = readFlags(args[0] === 'serve' ? args.slice(1) : args);
  if (given.some(({ flag }) => flag.name === 'help')) return { action: 'help' };
  if (given.some(({ flag }) => flag.name === 'version')) return { action: 'version' };

  const settings = defaultSettings();
  for (const each of given) {
    if (each.flag.support.kind === 'not built') refuseNotBuilt(each, each.flag.support.accepted);
    else applyFlag(each, settings);
  }
  const warnings = [
    ...settleStrictModelConfig(given, settings),
    ...settleCacheSize(given),
    ...settleResources(settings),
    ...noEffectWarnings(given),
  ];
  checkSettings(settings);
  return { action: 'serve', settings, warnings };
};
