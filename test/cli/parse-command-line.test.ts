import { describe, expect, it } from 'vitest';
import { flags } from '../../src/cli/flags.ts';
import { parseCommandLine } from '../../src/cli/parse-command-line.ts';
import { UsageError } from '../../src/cli/usage-error.ts';
import { defaultSettings } from '../../src/server/settings.ts';

const serve = (...args: readonly string[]) => {
  const commandLine = parseCommandLine(['--model-repository=models', ...args]);
  if (commandLine.action !== 'serve') throw new Error(`not a line that serves: ${args.join(' ')}`);
  return commandLine;
};

const settings = (...args: readonly string[]) => serve(...args).settings;

const fault = (...args: readonly string[]): string => {
  try {
    parseCommandLine(args);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  return 'no fault';
};

const serveFault = (...args: readonly string[]): string => fault('--model-repository=models', ...args);

describe('forms', () => {
  it("has Triton's defaults where nothing is given", () => {
    const defaults = defaultSettings();
    expect(settings()).toEqual({ ...defaults, models: { ...defaults.models, repositories: ['models'] } });
  });

  it.each([
    ['--flag=value', ['--http-port=9000']],
    ['--flag value', ['--http-port', '9000']],
    ['a prefix', ['--http-p=9000']],
    ['a prefix and a value', ['--http-po', '9000']],
    ['the last one', ['--http-port=1', '--http-port=9000']],
  ])('takes %s', (_form, args) => {
    expect(settings(...args).http.port).toBe(9000);
  });

  it('takes a value that looks like a flag, as getopt does', () => {
    expect(settings('--id', '--http-port').id).toBe('--http-port');
    expect(settings('--exit-timeout-secs', '-5').exitTimeoutSeconds).toBe(0);
  });

  it('takes a value with an equals sign in it', () => {
    expect(settings('--id=a=b').id).toBe('a=b');
  });

  it('takes a whole name that begins a longer one', () => {
    expect(settings('--grpc-max-connection-age=5').grpc).toMatchObject({ maxConnectionAgeMs: 5, maxConnectionAgeGraceMs: 0 });
  });

  it('is the same after serve', () => {
    expect(parseCommandLine(['serve', '--model-repository=models'])).toEqual(parseCommandLine(['--model-repository=models']));
  });

  it.each([
    ['true', true],
    ['ON', true],
    ['1', true],
    ['False', false],
    ['off', false],
    ['0', false],
  ])('reads the boolean %s', (text, value) => {
    expect(settings(`--exit-on-error=${text}`).models.exitOnError).toBe(value);
  });

  it('gathers repeated flags in their order', () => {
    const { models } = settings('--model-store=b', '--backend-config=onnxruntime,a=1', '--backend-config=b=2');
    expect(models.repositories).toEqual(['models', 'b']);
    expect(models.backendConfig).toEqual([
      { backend: 'onnxruntime', key: 'a', value: '1' },
      { backend: '', key: 'b', value: '2' },
    ]);
  });

  it('gathers origins as browsers write them', () => {
    const origins = ['https://app.example', 'http://localhost:5173', 'http://[::1]:5173', 'null', '*'];
    expect(settings(...origins.map((origin) => `--ws-allowed-origin=${origin}`)).webSocket.allowedOrigins).toEqual(origins);
    for (const origin of ['app.example', 'https://app.example/', 'https://app.example?x', 'https://', '']) {
      expect(serveFault(`--ws-allowed-origin=${origin}`)).toBe(
        `Bad option: "--ws-allowed-origin".\n--ws-allowed-origin option format is <scheme>://<host>[:<port>] or *. Got ${origin}`,
      );
    }
  });

  it('gathers what a cache is told', () => {
    const cache = {
      name: 'redis',
      settings: new Map([
        ['host', 'r=1'],
        ['port', '6379'],
      ]),
    };
    expect(settings('--cache-config=redis,host=r=1', '--cache-config=redis,port=6379').cache).toEqual(cache);
    expect(settings('--response-cache-byte-size=1048576').cache).toEqual({ name: 'local', settings: new Map([['size', '1048576']]) });
    expect(settings('--response-cache-byte-size=0').cache).toBeUndefined();
    expect(serve('--response-cache-byte-size=9').warnings).toEqual([
      '--response-cache-byte-size is deprecated: use --cache-config=local,size=9',
    ]);
  });

  it('gathers what the rate limiter is told', () => {
    expect(settings('--rate-limit=Execution_Count', '--rate-limit-resource=R1:4', '--rate-limit-resource=r:2:1').models.rateLimit).toEqual({
      mode: 'execution_count',
      resources: [
        { name: 'R1', count: 4, device: undefined },
        { name: 'r', count: 2, device: 1 },
      ],
    });
    expect(serve('--rate-limit-resource=R1:4').warnings).toEqual([
      '--rate-limit-resource has no effect: it belongs to --rate-limit=execution_count',
    ]);
  });

  it('knows help and version among other flags', () => {
    expect(parseCommandLine(['--help'])).toEqual({ action: 'help' });
    expect(parseCommandLine(['--http-port=nonsense', '--version'])).toEqual({ action: 'version' });
  });
});

describe('faults', () => {
  it.each<[readonly string[], string]>([
    [['--http-port=x'], 'Bad option: "--http-port".\nInvalid option value. Got x'],
    [['--http-port='], 'Bad option: "--http-port".\nInvalid option value. Got '],
    [['--http-port=65536'], 'Bad option: "--http-port".\nProvided option value is out of bound. Got 65536'],
    [['--exit-timeout-secs=99999999999'], 'Bad option: "--exit-timeout-secs".\nProvided option value is out of bound. Got 99999999999'],
    [['--allow-http=maybe'], 'Bad option: "--allow-http".\ninvalid value for bool option: maybe'],
    [['--log-format=json'], 'Bad option: "--log-format".\ninvalid argument for --log-format'],
    [['--http-max-input-size=0'], 'Bad option: "--http-max-input-size".\nError: --http-max-input-size must be greater than 0.'],
    [
      ['--grpc-infer-thread-count=1'],
      'Bad option: "--grpc-infer-thread-count".\ninvalid argument for --grpc_infer_thread_count. Must be in the range 2 to 128.',
    ],
    [['--metrics-config=x'], 'Bad option: "--metrics-config".\n--metrics-config option format is <setting>=<value>. Got x'],
    [
      ['--backend-config=,a=b'],
      `Bad option: "--backend-config".\n--backend-config option format is '<backend name>,<setting>=<value>'. Got ,a=b`,
    ],
    [
      ['--cache-config=size=3'],
      'Bad option: "--cache-config".\nNo cache specified. --cache-config option format is <cache name>,<setting>=<value>. Got size=3',
    ],
    [
      ['--cache-config=local,size'],
      `Bad option: "--cache-config".\n--cache-config option format is '<cache name>,<setting>=<value>'. Got local,size`,
    ],
    [
      ['--cache-config=local,size=1', '--cache-config=redis,host=a'],
      'Bad option: "--cache-config".\nfound multiple cache configurations, but only a single cache is currently supported',
    ],
    [
      ['--cache-config=disk,size=1'],
      `Bad option: "--cache-config".\nunable to find 'libtritoncache_disk.so' for cache. There is local and redis`,
    ],
    [['--cache-config=local,sise=1'], `Bad option: "--cache-config".\ncache 'local' has no setting 'sise'; there is size`],
    [['--cache-directory='], 'Bad option: "--cache-directory".\ncache directory can not be empty'],
    [
      ['--cache-config=local,size=1', '--response-cache-byte-size=1'],
      'Error: Incompatible flags --response-cache-byte-size and --cache-config both provided. Please provide one or the other.',
    ],
    [['--rate-limit=on'], 'Bad option: "--rate-limit".\ninvalid argument for --rate-limit'],
    ...['R1', ':1', 'a:1:2:3'].map(
      (value) =>
        [
          [`--rate-limit-resource=${value}`],
          `Bad option: "--rate-limit-resource".\n--rate-limit-resource option format is '<resource_name>:<count>:<device>' or '<resource_name>:<count>'. Got ${value}`,
        ] satisfies [readonly string[], string],
    ),
    [['--rate-limit-resource=a:x'], 'Bad option: "--rate-limit-resource".\nInvalid option value. Got x'],
    [['--rate-limit-resource=a:-1'], 'Bad option: "--rate-limit-resource".\nProvided option value is out of bound. Got -1'],
    [['--disable-auto-complete-config=true'], 'Bad option: "--disable-auto-complete-config".\nthis option takes no value. Got true'],
    [['--id'], 'Bad option: "--id".\nthis option needs a value: string'],
    [['stray'], 'Unexpected argument: stray'],
    [['--', '--http-port=1'], 'Unexpected argument: --http-port=1'],
    [['--htp-port=1'], 'Unknown option: "--htp-port". Did you mean --http-port?'],
    [['--model-repositry', 'x'], 'Unknown option: "--model-repositry". Did you mean --model-repository?'],
    [['-p'], 'Unknown option: "-p".'],
  ])('names %j', (args, message) => {
    expect(serveFault(...args)).toBe(message);
  });

  it('lists what an unclear prefix may be', () => {
    expect(serveFault('--ws=1')).toBe(
      'Ambiguous option: "--ws". It may be --ws-max-inflight, --ws-ping-interval, --ws-max-message-bytes, --ws-allowed-origin',
    );
  });

  it('wants a repository', () => {
    expect(fault()).toBe('--model-repository must be specified');
  });

  it.each([
    [['--http-port=8001'], 'HTTP requests and GRPC requests at the same address and port 0.0.0.0:8001'],
    [['--metrics-port=8000'], 'HTTP requests and metrics requests at the same address and port 0.0.0.0:8000'],
    [['--metrics-port=8001', '--metrics-address=0.0.0.0'], 'GRPC requests and metrics requests at the same address and port 0.0.0.0:8001'],
  ])('sees that %j collide', (args, message) => {
    expect(serveFault(...args)).toBe(`The server cannot listen to ${message}`);
  });

  it.each([
    [['--http-port=8001', '--allow-grpc=false']],
    [['--http-port=8001', '--grpc-address=127.0.0.1']],
    [['--http-port=0', '--grpc-port=0']],
  ])('sees that %j do not collide', (args) => {
    expect(serveFault(...args)).toBe('no fault');
  });
});

describe('what is not built', () => {
  it('is refused by name', () => {
    expect(serveFault('--model-control-mode=poll')).toBe(
      'Bad option: "--model-control-mode".\n--model-control-mode=poll is not built yet in Weir; accepted: --model-control-mode=none',
    );
    expect(serveFault('--load-model=a')).toBe('Bad option: "--load-model".\n--load-model=a is not built yet in Weir');
    expect(serveFault('--model-repository=s3://bucket/models')).toContain('repositories at s3:// are not built yet in Weir');
    expect(serveFault('--metrics-config=summary_latencies=true')).toContain('summary_latencies is not built yet in Weir');
  });

  it('is accepted where it asks for what is done anyway', () => {
    expect(settings('--model-control-mode=NONE', '--rate-limit=off', '--grpc-use-ssl=false', '--model-load-retry-count=0')).toEqual(
      settings(),
    );
  });

  it('every flag of that kind refuses some value and accepts what it says it accepts', () => {
    const notBuilt = flags.filter(({ support }) => support.kind === 'not built');
    expect(notBuilt.length).toBeGreaterThan(20);
    for (const { name, support } of notBuilt) {
      expect(serveFault(`--${name}=no-such-value`)).toContain('is not built yet in Weir');
      for (const value of support.kind === 'not built' ? support.accepted : []) expect(serveFault(`--${name}=${value}`)).toBe('no fault');
    }
  });
});

describe('what has no effect', () => {
  it('is answered with a warning that says why', () => {
    expect(serve('--http-thread-count=4').warnings).toEqual([
      '--http-thread-count has no effect: one event loop serves all connections, and models run in threads of their own',
    ]);
  });

  it('is not worth a warning at its default', () => {
    expect(serve('--http-thread-count=8').warnings).toEqual([]);
  });

  it('is checked all the same', () => {
    expect(serveFault('--http-thread-count=many')).toContain('Invalid option value. Got many');
  });
});

describe('--strict-model-config', () => {
  const deprecated = "Warning: '--strict-model-config' has been deprecated! Please use '--disable-auto-complete-config' instead.";

  it.each([
    ['true', false],
    ['false', true],
  ])('%s still works, with a warning', (value, autoCompleteConfig) => {
    const { settings, warnings } = serve(`--strict-model-config=${value}`);
    expect(settings.models.autoCompleteConfig).toBe(autoCompleteConfig);
    expect(warnings).toEqual([deprecated]);
  });

  it('gives way to the newer flag, whichever comes last', () => {
    const { settings, warnings } = serve('--disable-auto-complete-config', '--strict-model-config=false');
    expect(settings.models.autoCompleteConfig).toBe(false);
    expect(warnings).toEqual([
      deprecated,
      "Warning: Overriding deprecated '--strict-model-config' from False to True in favor of '--disable-auto-complete-config'!",
    ]);
  });
});

it('every built flag changes a setting, or is refused', () => {
  const samples: Readonly<Record<string, string>> = { boolean: '1', integer: '77', string: 'x' };
  const ofOneSet: Readonly<Record<string, string>> = { 'log-format': 'ISO8601', 'rate-limit': 'execution_count' };
  const changed = (name: string, value: string): boolean => JSON.stringify(settings(`--${name}=${value}`)) !== JSON.stringify(settings());
  for (const { name, argument, group, default: usual, support } of flags) {
    if (support.kind !== 'built' || group === 'Global' || argument === '' || argument.startsWith('<')) continue;
    const value = argument === 'boolean' ? String(usual !== 'true') : (samples[argument] ?? 'x');
    expect([name, changed(name, ofOneSet[name] ?? value)]).toEqual([name, true]);
  }
});
