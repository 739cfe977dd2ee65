import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rounds } from '../../test/support/rounds.ts';
import { mayHoldSecret } from './secret-scan.ts';
import { isSecretPath, masked, secretSpans, touchesSecret } from './secrets.ts';
import { maskedDiff } from './unified.ts';

describe('isSecretPath', () => {
  it.each([
    '.env',
    'a/.env',
    '.env.local',
    'prod.env',
    'key.pem',
    'x/id_rsa',
    '.npmrc',
    '.netrc',
    'secrets.yml',
    'credentials',
    '.envrc',
    'id_ed25519_sk',
    '.docker/config.json',
    '.kube/config',
    'terraform.tfvars',
    'client_secret_1.json',
  ])('%s holds secrets', (path) => expect(isSecretPath(path)).toBe(true));

  it.each(
    [
      'app.env x.pem x.key x.p12 x.pfx x.jks x.keystore x.ppk x.kubeconfig x.tfvars x.tfvars.json x.tfstate',
      'x.tfstate.backup credentials.json credentials.yml secrets.yaml secrets.toml credentials.ini',
      'credentials.tfrc.json auth.json service-account-1.json gh/hosts.yml gh/hosts.yaml .m2/settings.xml',
      'dir.ts/id_rsa dir.ts/kubeconfig .kube/config dir.ts/.npmrc dir.ts/.env.local',
    ].flatMap((names) => names.split(' ')),
  )('%s holds secrets, in any case', (path) => {
    expect([path, path.toUpperCase(), `/a.b/${path}`].filter((each) => !isSecretPath(each))).toEqual([]);
  });
  it.each([
    '.env.example',
    '.env.sample',
    '.env.template',
    '.env.production.example',
    'a/.env.local.sample',
    'env.ts',
    'src/secrets.ts',
    'keys.md',
    'environment',
    'package.json',
    'src/auth.ts',
    'config.json',
    '.github/config',
  ])('%s holds none', (path) => expect(isSecretPath(path)).toBe(false));
});

const A = 'a'.repeat(40);
const TOKENS = {
  'GitHub token': `ghp_${A.slice(0, 36)}`,
  'GitHub fine-grained token': `github_pat_${A}`,
  'GitLab token': `glpat-${A.slice(0, 20)}`,
  'AWS key id': 'AKIAIOSFODNN7ABCDEFG',
  'Anthropic key': `sk-ant-api03-${A}`,
  'OpenAI key': `sk-proj-${A}B7`,
  'Stripe key': `sk_live_${A.slice(0, 24)}`,
  'Slack token': 'xoxb-1234567890-abcdefghij',
  'Google access token': `ya29.${A}`,
  'Google key': `AIza${A.slice(0, 35)}`,
  'npm token': `npm_${A.slice(0, 36)}`,
  'SendGrid key': `SG.${A.slice(0, 22)}.${A}`,
  'Hugging Face token': `hf_${A.slice(0, 34)}`,
  'DigitalOcean token': `dop_v1_${A}${A.slice(0, 24)}`,
  'Twilio key': `SK${'0a1b2c3d'.repeat(4)}`,
  'Slack app token': `xapp-1-A0123456789-1234567890123-${'0a1b2c3d'.repeat(8)}`,
  'Vault token': `hvs.CAESI${A}B7`,
  'Docker token': `dckr_pat_${A.slice(0, 27)}`,
  'Google client secret': `GOCSPX-${A.slice(0, 28)}`,
  'Atlassian token': `ATATT3xFfGF0${A}${A}=1A2B3C4D`,
  'Databricks token': `dapi${'0a1b2c3d'.repeat(4)}`,
  'GitLab runner token': `glrt-${A.slice(0, 20)}`,
  'Stripe webhook secret': `whsec_${A.slice(0, 32)}`,
  'Shopify token': `shpat_${'0a1b2c3d'.repeat(4)}`,
  'Supabase token': `sbp_${A}`,
  'Groq key': `gsk_${A}${A.slice(0, 12)}`,
  'age key': `AGE-SECRET-KEY-1${'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L'.repeat(2).slice(0, 58)}`,
  JWT: `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0abc.${A}`,
};

describe('mayHoldSecret', () => {
  it.each(Object.values(TOKENS))('finds %s at any position among other bytes', (token) => {
    for (const before of ['', ' ', 'x-', '"', 'é', '\n\n']) {
      for (let offset = 0; offset < 5; offset += 1) {
        const text = `${' '.repeat(offset)}${before}${token}`;
        expect(mayHoldSecret(Buffer.from(text))).toBe(true);
        expect(mayHoldSecret(Buffer.from(`#${text}`).subarray(1))).toBe(true);
        expect(mayHoldSecret(Buffer.from(`${text}; and more words after it`))).toBe(true);
      }
    }
  });

  it('finds a private key after many rows of dashes', () => {
    const key = '-----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----\n';
    expect(mayHoldSecret(Buffer.from(key))).toBe(true);
    expect(mayHoldSecret(Buffer.from(`${'-----\n'.repeat(500)}${key}`))).toBe(true);
    expect(mayHoldSecret(Buffer.from('-----\n'.repeat(500)))).toBe(false);
  });

  it.each([
    'aVeryLongNameOfAFunctionThatSomebodyWrote()',
    'object.aVeryLongNameOfAPropertyOfIt',
    'https://host/a-rather-long-path-with-many-words',
    '================================================',
    'x'.repeat(5000),
    '',
  ])('finds nothing in %.40s', (text) => expect(mayHoldSecret(Buffer.from(text))).toBe(false));
});

/** A text with X in place of a value, and the value that must be masked there. */
const PHRASES: Readonly<Record<string, readonly [around: string, value: string]>> = {
  'Slack webhook': ['"https://hooks.slack.com/services/X"', `T0123ABCD/B0123ABCD/${A.slice(0, 24)}`],
  'AWS secret key': ['aws_secret_access_key = X', `${A.slice(0, 38)}/+`],
  'AWS secret key in JSON': ['"SecretAccessKey": "X",', `${A.slice(0, 38)}/+`],
  'Azure connection': ['c=https;AccountKey=X;EndpointSuffix=core', `${A}${A}${A.slice(0, 6)}==`],
  'bearer token': ["{ Authorization: 'Bearer X' }", `Ab3${A}`],
  'basic authorization': ['Authorization: Basic X', 'am9lOmszeUZvclRoaXNIb3N0'],
  'basic authorization in code': ["{ 'authorization': 'Basic X' }", 'am9lOmszeUZvclRoaXNIb3N0Cg=='],
  'PostgreSQL address': ['postgres://app:X@db.example.com:5432/x', 'k3yForThisBase'],
  'password with a letter that has the byte of a space': ['ftp://me:X@host', 'pass1à2word'],
  'address without a user': ['redis://:X@cache:6379', 'k3yForThisCache'],
  'git address': ['git clone https://joe:X@github.com/x/y', 'k3yForThisHost'],
  'service account': [
    '"private_key": "-----BEGIN PRIVATE KEY-----\\nX-----END PRIVATE KEY-----\\n"',
    `${A}\\n${A}\\n`,
  ],
  'service account in a line that was cut': ['"-----BEGIN RSA PRIVATE KEY-----\\nX', A],
};

describe('the prefilter', () => {
  const key = '-----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----\n';
  const secrets = [
    ...Object.values(TOKENS),
    ...Object.values(PHRASES).map(([around, value]) => around.replace('X', value)),
    key,
  ];
  const piece = fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom(...secrets) },
    {
      weight: 2,
      arbitrary: fc.constantFrom(' ', '\n', '.', '/', '-', '_', 'é', '"', '=', '@', '-----', 'B0A'),
    },
    { weight: 2, arbitrary: fc.stringMatching(/^[\w-]{0,30}$/) },
    { weight: 1, arbitrary: fc.string({ maxLength: 9, unit: 'binary' }) },
  );

  it('lets every text pass in which the patterns find a secret, at any alignment', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 7 }), fc.nat(7), (pieces, offset) => {
        const text = pieces.join('').slice(0, 4000);
        if (secretSpans(text, { secretFile: false }).length === 0) return;
        const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]).subarray(offset);
        expect(mayHoldSecret(bytes)).toBe(true);
      }),
      { numRuns: rounds(500, 2000) },
    );
  });
});

describe('values that the text before them makes secret', () => {
  it.each(Object.entries(PHRASES))('%s is masked, also in a long text', (_name, [around, value]) => {
    const long = `${'// nothing of interest\n'.repeat(300)}${around}\n`;
    for (const text of [`${around}\n`, long]) {
      const shown = masked(text.replace('X', value), { secretFile: false });
      expect(shown).toBe(text.replace('X', '[masked]'));
      expect(mayHoldSecret(Buffer.from(text.replace('X', value)))).toBe(true);
    }
  });

  it.each([
    'postgres://user:password@localhost/db',
    `https://user:$\{PASSWORD1}@example.com/`,
    'http://localhost:8080/@scope/a1b2c3d4',
    'aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    'Authorization: Bearer your-token-goes-here-and-is-quite-long-too',
    "'-----BEGIN PRIVATE KEY-----\\n' + body",
    'Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==',
    'Authorization: Basic dXNlcm5hbWU6cGFzc3dvcmQ=',
    'Authorization: Basic yourBase64EncodedCredentials',
  ])('nothing is masked in %s', (text) => {
    expect(masked(text, { secretFile: false })).toBe(text);
  });
});

describe('tokens in any file', () => {
  it.each(Object.entries(TOKENS))('%s is masked', (_name, token) => {
    expect(masked(`const key = "${token}";\n`, { secretFile: false })).toBe('const key = "[masked]";\n');
  });

  it.each([
    'const skew = "sk-ip"',
    'npm_config_registry=x',
    'the_AKIA',
    'ghp_short',
    'AKIAIOSFODNN7EXAMPLE',
    'sk-a-class-name-of-many-words-in-a-row-42',
    'eyJ.not.jwt',
    'canvas.getElementByIdentifierAndName1',
    'hvs.aVeryLongNameOfAPropertyOfIt',
    'dapiAVeryLongNameOfAFunctionThatSomebodyWrote',
    'whsec_test_secret',
    'task-ant-hill',
  ])('does not mask: %s', (text) => expect(masked(text, { secretFile: false })).toBe(text));

  it.each(['RSA PRIVATE KEY', 'PGP PRIVATE KEY BLOCK'])('the body of a %s is masked', (name) => {
    const text = `-----BEGIN ${name}-----\nabc\n-----END ${name}-----\n`;
    expect(masked(text, { secretFile: false })).not.toContain('abc');
    expect(mayHoldSecret(Buffer.from(text))).toBe(true);
  });

  it('the body of a private key is masked line by line', () => {
    const text = '-----BEGIN RSA PRIVATE KEY-----\nabc\ndef\n-----END RSA PRIVATE KEY-----\n';
    expect(masked(text, { secretFile: false })).toBe(
      '-----BEGIN RSA PRIVATE KEY-----\n[masked]\n[masked]\n-----END RSA PRIVATE KEY-----\n',
    );
  });
});

describe('values of a secret file', () => {
  it.each([
    ['A=1\nB="two words"\n', 'A=[masked]\nB="[masked]"\n'],
    ['# note\nexport KEY=value # why\nEMPTY=\n', '# note\nexport KEY=[masked] # why\nEMPTY=\n'],
    ['A=1\r\nB=2\r\n', 'A=[masked]\r\nB=[masked]\r\n'],
    ['{\n  "user": "me",\n  "list": [1]\n}\n', '{\n  "user": "[masked]",\n  "list": [1]\n}\n'],
    ['token: abc\nnested:\n  key: def\n', 'token: [masked]\nnested:\n  key: [masked]\n'],
    ['machine x login me password p4ss\n', 'machine x login me password [masked]\n'],
  ])('%j', (text, expected) => {
    expect(masked(text, { secretFile: true })).toBe(expected);
    expect(expected.split('\n').length).toBe(text.split('\n').length);
  });
});

describe('a very large secret file', () => {
  const rows = Array.from({ length: 130_000 }, (_, i) => `"key${i}": "v${i}",\n`).join('');

  it('is masked', () => {
    const spans = secretSpans(rows, { secretFile: true });
    expect(spans).toHaveLength(130_000);
    expect(touchesSecret(rows, spans, '"key')).toBe(false);
    expect(touchesSecret(rows, spans, 'v129999')).toBe(true);
  });

  it('has a diff', () => {
    const options = { secrets: 'mask', path: 'x.tfstate', maxLines: 20 } as const;
    const diff = maskedDiff(rows, `${rows}new\n`, options);
    expect(diff.text).toContain('+[masked]');
    expect(diff.shownAfter).toEqual([]);
  });
});

describe('no form of a value in a secret file is shown', () => {
  const V = 'q7Zk2mWx9Pt4Rb8Ls3';
  it.each([
    ...['A=V', 'A="V"', "A='V'", 'A=ab#V', 'A="a#b\\"V"', 'A=V # note', 'A="one\nV\n"', 'A="x" V', 'A=x,V'],
    ...[
      'export A=V',
      'set A=V',
      'declare -x A=V',
      'A+=V',
      'A = V',
      'MY KEY=V',
      '# A=V',
      ': V',
      'V',
      'V=',
      'V==',
    ],
    ...['{"a":"V"}', '{"a":{"b":"V"}}', '"a": ["V"]', '"a": [\n "V"\n]', '"a b": "V"', '"a":"x","b":"V"'],
    ...['{ "a": "x\\"V" }', '"a": "V" }', '"a": "x, V"', '["x", "V"]', '{"a": V}'],
    ...[
      'a: |\n  V',
      'a: >-\n  x V',
      '- V',
      'a: {b: V}',
      'a: [V]',
      '"a b": V',
      'a: x, V',
      'a: x#V',
      '? a\n: V',
    ],
    ...[
      'a: !!str V',
      'a: &x V',
      'a: "x\n  V"',
      ':a: V',
      '*:*:*:*:V',
      'h:5432:d:u:V',
      'h:5432:d:u:V=',
      'u:$1$V',
    ],
    ...['//r:8080/:_password="V"', ' password "V"', 'machine h login u password V', '<password>V</password>'],
    ...['<password>a"V</password>', '<password><![CDATA[V]]></password>', "<server id='V'/>", '<a b = "V">'],
    ...[
      '# A = V',
      '; a = V',
      '# api_key: V',
      '#   - Password: V',
      '<server id="V"/>',
      'Private-Lines: 1\nV',
      'x = {\n a = "V"\n}',
      'x = <<EOT\nV\nEOT',
      '[[V, V]]',
    ],
  ])('%j', (text) => expect(masked(text.replaceAll('V', V), { secretFile: true })).not.toContain(V));

  it.each([
    '# a note',
    '# Note: keep this first',
    '[default]',
    '{',
    '  },',
    'nested:',
    '"auths": {',
    'EMPTY=',
    '---',
    'a: |',
    '// a note',
  ])('%j has no value', (text) => expect(masked(text, { secretFile: true })).toBe(text));

  it('a line of a private key is masked in a part of a file', () => {
    const body = 'aB3/'.repeat(16);
    expect(masked(`${body}\nplain`, { secretFile: false, isPart: true })).toBe('[masked]\nplain');
    expect(masked(body, { secretFile: false })).toBe(body);
  });
});

describe('touchesSecret', () => {
  const text = 'A=one\nB=two\n# note\n';
  const spans = secretSpans(text, { secretFile: true });
  it.each(['A=one', 'A=wrong', 'one\nB', 'A=o', 'B=[masked]'])('is true for %j', (anchor) => {
    expect(touchesSecret(text, spans, anchor)).toBe(true);
  });
  it.each(['# note', 'C=new', '\n# note\n'])('is false for %j', (anchor) => {
    expect(touchesSecret(text, spans, anchor)).toBe(false);
  });
});

describe('a text that was made to be slow', () => {
  // The text repeats the beginning of a secret many times. A pattern that starts again at each
  // repetition would take longer than the test's time limit.
  it.each(['sk-', '-eyJ', 'xoxb-', 'a.', ' ', '|'])('is searched in one pass: %j', (part) => {
    const text = `${part.repeat(2 ** 19 / part.length)}x@_`;
    // Test both searches. The one with all patterns runs only for a file of secrets, or after the
    // quick one has found something.
    mayHoldSecret(Buffer.from(text));
    secretSpans(text, { secretFile: true });
  });
});
