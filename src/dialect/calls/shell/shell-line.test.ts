import { describe, expect, it } from 'vitest';
import { shellLine } from './shell-line.ts';

/** The writes of commands that certainly run, without the texts that a command prints. */
const writesOf = (text: string, home?: string): object[] =>
  shellLine(text, { home })
    .writes()
    .flatMap(({ certain, ...write }) => (certain ? [{ ...write, printed: undefined }] : []));
const namesOf = (text: string): readonly string[] => shellLine(text).names();

const over = (path: string, content?: string) =>
  content === undefined ? { how: 'overwrite', path } : { how: 'overwrite', path, content };
const append = (path: string, content?: string) =>
  content === undefined ? { how: 'append', path } : { how: 'append', path, content };
const edit = (path: string) => ({ how: 'edit', path });

describe('folders that a word begins with', () => {
  it.each([
    ['echo x > ~/a.txt', [over('/home/u/a.txt')]],
    ['echo x > ~/"a b.txt"', [over('/home/u/a b.txt')]],
    ['echo x > "$HOME/a.txt"', [over('/home/u/a.txt')]],
    [`cp b.txt \${HOME}/a.txt`, [{ how: 'copy', source: 'b.txt', path: '/home/u/a.txt' }]],
    ['cd ~/src && echo x > a.txt', [over('/home/u/src/a.txt')]],
    ['cd src && echo x > "$PWD"/a.txt', [over('src/./a.txt')]],
    ['cd src && F=$PWD/a.txt && echo x > $F', [over('src/./a.txt')]],
    ['F=$PWD/a.txt; cd src; echo x > $F', []],
    ['echo x > "~/a.txt"', [over('~/a.txt')]],
    ['echo x > ~bob/a.txt', []],
    ['echo x > $HOMEX/a.txt', []],
    [`echo x > \${HOME:-/x}/a.txt`, [over('/home/u/a.txt')]],
    [`echo x > "\${HOME:?}/a.txt"`, [over('/home/u/a.txt')]],
    [`echo x > \${HOME:+/x}/a.txt`, []],
    ['cd && echo x > a.txt', [over('/home/u/a.txt')]],
    ['echo x > $HOME/$name', []],
    ['HOME=/x; echo x > ~/a.txt', [over('/x/a.txt')]],
    ['env HOME=/x tee ~/a.txt', []],
  ])('%s', (command, expected) => {
    expect(writesOf(command, '/home/u')).toEqual(expected);
  });

  it('a home folder that is unknown', () => {
    expect(writesOf('echo x > ~/a.txt; echo x > $HOME/a.txt')).toEqual([]);
  });
});

describe('certain writes', () => {
  it.each([
    ['echo x > a.txt', [over('a.txt')]],
    ['echo x >> a.txt', [append('a.txt')]],
    ['echo x >| a.txt', [over('a.txt')]],
    ['make &> build.log', [over('build.log')]],
    ['make &>> build.log', [append('build.log')]],
    ['make >& build.log', [over('build.log')]],
    ['make > out.txt 2> err.txt', [over('out.txt'), over('err.txt')]],
    ['> empty.txt', [over('empty.txt')]],
    ['echo x > "a b.txt"', [over('a b.txt')]],
    ['echo x > \'a\'"b".txt', [over('ab.txt')]],
    ['echo x > a\\ b.txt', [over('a b.txt')]],
    ["cat > a.txt <<'EOF'\none $x\nEOF\n", [over('a.txt', 'one $x\n')]],
    ['cat <<EOF > a.txt\none\nEOF\n', [over('a.txt', 'one\n')]],
    ['cat <<EOF > a.txt\none $x\nEOF\n', [over('a.txt')]],
    ['cat <<-EOF >> a.txt\n\tone\n\tEOF\n', [append('a.txt', 'one\n')]],
    ["cat <<'E' 1> a\nx\nE", [over('a', 'x\n')]],
    ["cat <<'E' >| a\nx\nE", [over('a', 'x\n')]],
    ["cat <<'E' &> a\nx\nE", [over('a', 'x\n')]],
    ["cat <<'E' >& a\nx\nE", [over('a', 'x\n')]],
    ["cat <<'E' &>> a\nx\nE", [append('a', 'x\n')]],
    ["cat 0<<'E' > a 2>&1\nx\nE", [over('a', 'x\n')]],
    ["cat <<'E' > a 2> b\nx\nE", [over('a', 'x\n'), over('b')]],
    ["cat <<'E' 2> a\nx\nE", [over('a')]],
    ["cat <<'E' 2>> a\nx\nE", [append('a')]],
    ["cat <<'E' 3> a\nx\nE", [over('a')]],
    ["cat <<'E' {fd}> a\nx\nE", [over('a')]],
    ["cat <<'E' > a > b\nx\nE", [over('a'), over('b')]],
    ["cat <<'E' > a >&2\nx\nE", [over('a')]],
    ["cat <<'E' 1<> a\nx\nE", [over('a')]],
    ["cat <<'E' <<'F' > a\nx\nE\ny\nF", [over('a')]],
    ["cat <<'E' < b > a\nx\nE", [over('a')]],
    ["cat <<'E' <<< y > a\nx\nE", [over('a')]],
    ["cat 3<<'E' > a\nx\nE", [over('a')]],
    ["cat <<'E' - b > a\nx\nE", [over('a')]],
    ["cat -n <<'E' > a\nx\nE", [over('a')]],
    ["cat <<'E' > a\nx", [over('a')]],
    ["tee a 3<<'E'\nx\nE", [over('a')]],
    ["tee a <<'E' < b\nx\nE", [over('a')]],
    ['ls | tee out.txt', [over('out.txt')]],
    ['ls | tee -a x.log y.log', [append('x.log'), append('y.log')]],
    ["tee a.txt <<'E'\nx\nE", [over('a.txt', 'x\n')]],
    ['cp a b', [{ how: 'copy', source: 'a', path: 'b' }]],
    ['cp -f a b', [{ how: 'copy', source: 'a', path: 'b' }]],
    [
      'cp x/a y/b dir',
      [
        { how: 'copy', source: 'x/a', path: 'dir/a' },
        { how: 'copy', source: 'y/b', path: 'dir/b' },
      ],
    ],
    ['mv a dir/', [{ how: 'move', source: 'a', path: 'dir/a' }]],
    ['mv -- -a b', [{ how: 'move', source: '-a', path: 'b' }]],
    ['cp -t dir a', [{ how: 'copy', source: 'a', path: 'dir/a' }]],
    [
      'mv -vt dir/ x/a b',
      [
        { how: 'move', source: 'x/a', path: 'dir/a' },
        { how: 'move', source: 'b', path: 'dir/b' },
      ],
    ],
    ['cp -ftdir a', [{ how: 'copy', source: 'a', path: 'dir/a' }]],
    ['cp --target-directory=dir -- a', [{ how: 'copy', source: 'a', path: 'dir/a' }]],
    ['cp --target-directory dir a', [{ how: 'copy', source: 'a', path: 'dir/a' }]],
    ['cp -S .orig a b', [{ how: 'copy', source: 'a', path: 'b' }]],
    ['cp --update a b', [{ how: 'copy', source: 'a', path: 'b' }]],
    ['mv --update=older a b', [{ how: 'move', source: 'a', path: 'b' }]],
    ["sed -i 's/a/b/' f.ts g.ts", [edit('f.ts'), edit('g.ts')]],
    ["sed -i.bak -e 's/a/b/' -e 's/c/d/' f.ts", [edit('f.ts')]],
    ["sed -Ei 's/a/b/' f.ts", [edit('f.ts')]],
    ["sed -i '' 's/a/b/' f.ts", [edit('f.ts')]],
    ["sed --in-place=.orig 's/a/b/' f.ts", [edit('f.ts')]],
    ["perl -pi -e 's/a/b/' f.ts", [edit('f.ts')]],
    ["perl -i -pe 's/a/b/' f.ts", [edit('f.ts')]],
    ["perl -0777 -pi.bak -e 's/a/b/' f.ts", [edit('f.ts')]],
    [
      "apply_patch <<'EOF'\n*** Begin Patch\nEOF\n",
      [{ how: 'patch', patch: '*** Begin Patch\n', folder: '' }],
    ],
    ["apply_patch <<'E'\n*** Begin Patch", [{ how: 'patch', patch: '*** Begin Patch', folder: '' }]],
    ["apply_patch < a <<'E'\nx\nE", [{ how: 'patch', patch: 'x\n', folder: '' }]],
    ['cd src && echo x > a.txt', [over('src/a.txt')]],
    ['cd src && cd lib && echo x > a.txt', [over('src/lib/a.txt')]],
    ['pushd src > /dev/null && echo x > a.txt; popd', [over('src/a.txt')]],
    ['pushd src && pushd lib && popd && echo x > a.txt', [over('src/a.txt')]],
    ['(pushd src); echo x > a.txt', [over('a.txt')]],
    ["bash <<'E'\necho x > a.txt\nE", [over('a.txt')]],
    ["sh -ex <<< 'echo x > a.txt'", [over('a.txt')]],
    ["echo 'echo x > a.txt' | sh", [over('a.txt')]],
    ['setsid -w tee a.txt', [over('a.txt')]],
    ['ionice -c 3 flock /tmp/l tee a.txt', [over('a.txt')]],
    ['f() { cp "$@"; }; f q a', [{ how: 'copy', source: 'q', path: 'a' }]],
    ['set -- q a; cp "$@"', [{ how: 'copy', source: 'q', path: 'a' }]],
    [`a=(q b); cp "\${a[@]}"`, [{ how: 'copy', source: 'q', path: 'b' }]],
    [`for f in "$@"; do cp q "$f"; done`, []],
    ['set -- a b; for f in "$@"; do tee "$f"; done', [over('a'), over('b')]],
    ['cd -P src && echo x > a.txt', [over('src/././a.txt')]],
    ['cd a && cd ./src && cd ../b && echo x > a.txt', [over('a/b/a.txt')]],
    ['cd -L -- src && cd .. && echo x > a.txt', [over('a.txt')]],
    ['echo $(cd src; echo x > a.txt) > b.txt', [over('src/a.txt'), over('b.txt')]],
    ['name="n $(echo x > a.txt)"', [over('a.txt')]],
    ['echo x > b.txt$(echo x > a.txt)', [over('a.txt')]],
    ['ls `echo x > a.txt`', [over('a.txt')]],
    ['make | tee >(grep x > a.txt) b.txt', [over('a.txt'), over('b.txt')]],
    ['diff <(sort b | tee a.txt) c', [over('a.txt')]],
    ['(exit 1); echo x > a.txt', [over('a.txt')]],
    ['cd src & echo x > a.txt', [over('a.txt')]],
    ['exit & echo x > a.txt', [over('a.txt')]],
    ['cat x > app/[id]/page.tsx', [over('app/[id]/page.tsx')]],
    ['cd app/[[...slug]] && echo x > "$PWD"/[id].tsx', [over('app/[[...slug]]/./[id].tsx')]],
    ["sed -i s/[ab]/x/ '[id]'/a[0].ts", [edit('[id]/a[0].ts')]],
    ['make || exit 1; echo x > a.txt', [over('a.txt')]],
    ['make && exit; echo x > a.txt', [over('a.txt')]],
    ['[ -f b ] && exit 1; echo x > a.txt', [over('a.txt')]],
    ['[ -f b ] && exec make; echo x > a.txt', [over('a.txt')]],
    ['[ -d src ] && cd src; echo x > a.txt', [over('src/a.txt'), over('a.txt')]],
    ['[ -d src ] && cd src && echo x > a.txt', [over('src/a.txt')]],
    ['{ [ -d src ] && cd src; }; echo x > a.txt', [over('src/a.txt'), over('a.txt')]],
    ["eval '[ -d src ] && cd src'; echo x > a.txt", [over('src/a.txt'), over('a.txt')]],
    ['test -d a && cd a; test -d b && cd b; ls > f', ['a/b/f', 'b/f', 'a/f', 'f'].map((path) => over(path))],
    ['test -d a && cd a; cd b; echo $(ls > f) > /g', [over('a/b/f'), over('b/f'), over('/g'), over('/g')]],
    ['cd src && make && cd ..; echo x > a.txt', [over('a.txt'), over('src/a.txt')]],
    ['[ -d src ] && cd src || exit 1; echo x > a.txt', [over('src/a.txt')]],
    ['[ -d src ] && cd src || { ls; exit 1; }; echo x > a.txt', [over('src/a.txt')]],
    ['[ -d src ] && cd src || ls; echo x > a.txt', [over('src/a.txt'), over('a.txt')]],
    ['mkdir -p src && cd src; echo x > a.txt', [over('src/a.txt')]],
    ['echo on && cd src && cd lib; echo x > a.txt', [over('src/lib/a.txt')]],
    ['exec > a.txt; echo x > b.txt', [over('a.txt'), over('b.txt')]],
    ['echo x > a.txt; exit; echo x > b.txt', [over('a.txt')]],
    ['exec tee a.txt; echo x > b.txt', [over('a.txt')]],
    ['(cd src && make) && echo x > a.txt', [over('a.txt')]],
    ['cd /w; echo x > a.txt', [over('/w/a.txt')]],
    ['{ echo a; echo b; } > a.txt', [over('a.txt')]],
    ["bash -lc 'cd src && echo x > a.txt'", [over('src/a.txt')]],
    ['sudo tee /etc/hosts', [over('/etc/hosts')]],
    ['env A=b sed -i s/x/y/ f', [edit('f')]],
    ['/usr/bin/env -i -u X A=b tee a.txt', [over('a.txt')]],
    ['sudo -E -u root A=b tee a.txt', [over('a.txt')]],
    ['timeout -k 1 5 sed -i s/x/y/ f', [edit('f')]],
    ['nice -n 5 stdbuf -oL /usr/local/bin/tee a.txt', [over('a.txt')]],
    ['command -p cp a b', [{ how: 'copy', source: 'a', path: 'b' }]],
    ["bash -ec 'echo x > a.txt'", [over('a.txt')]],
    ["bash --norc -x -euo pipefail -c 'echo x > a.txt' name", [over('a.txt')]],
    ["bash -o pipefail -c -- 'echo x > a.txt'", [over('a.txt')]],
    ["eval 'cd src && echo x' '>' a.txt; echo y > b.txt", [over('src/a.txt'), over('src/b.txt')]],
    ['if test -f b; then ls; fi; echo x > a.txt', [over('a.txt')]],
    ['for f in a b; do ls $f; done; echo x > a.txt', [over('a.txt')]],
    ['for d in a b; do (cd $d && make); done; echo x > a.txt', [over('a.txt')]],
    ['[[ $(cd src && pwd) == /w ]] && echo x > a.txt', [over('a.txt')]],
    ['for f in a b; do echo x > out.txt; done', [over('out.txt'), over('out.txt')]],
    ['for f in {a,b}.txt; do echo x > $f; done', [over('a.txt'), over('b.txt')]],
    ['for i in {1..2}; do echo x > "$i.txt"; done', [over('1.txt'), over('2.txt')]],
    ['for f in a "b c"; do echo x > "$f.txt"; done', [over('a.txt'), over('b c.txt')]],
    ['for d in a b; do cd $d; done; echo x > a.txt', [over('a/b/a.txt')]],
    ['for i in 1 2; do for j in a b; do ls > $i$j; done; done', ['1a', '1b', '2a', '2b'].map((f) => over(f))],
    ['F=a.txt; echo x > $F', [over('a.txt')]],
    ['F=a; G="$F/b c"; echo x > "$G.txt"', [over('a/b c.txt')]],
    ['export D=src; cd "$D" && echo x > a.txt', [over('src/a.txt')]],
    ['F=a.txt; (F=b.txt; echo x > $F); echo y > $F', [over('b.txt'), over('a.txt')]],
    ['F=a.txt; ls | F=b.txt; echo y > $F', [over('a.txt')]],
    ['f() { echo x > a.txt; }; f', [over('a.txt')]],
    ['save() { echo x > "$1"; }; save a.txt; save b.txt', [over('a.txt'), over('b.txt')]],
    ['function f { cp "$1" "$2"; }; f a b', [{ how: 'copy', source: 'a', path: 'b' }]],
    ['{ F=a.txt; echo x > $F; }', [over('a.txt')]],
    ['if test -f b; then echo x > a; else echo y > a; fi', [over('a'), over('a')]],
    ['if test -f b; then sed -i s/1/2/ a; else printf x > a; fi', [edit('a'), over('a')]],
    ['if b; then ls > a; else cp c a; fi', [over('a'), { how: 'copy', source: 'c', path: 'a' }]],
    ['case $x in 1) ls > a;; *) pwd > a;; esac', [over('a'), over('a')]],
    ['if [ $x ]; then rm a; cp b c; else cp b c; fi', Array(2).fill({ how: 'copy', source: 'b', path: 'c' })],
    ['echo x > /dev/shm/a.txt', [over('/dev/shm/a.txt')]],
    ['echo x > /dev/../a.txt', [over('/dev/../a.txt')]],
    ['sed -bi s/a/b/ f', [edit('f')]],
    ['false || echo x > a.txt', []],
    ['true && echo x > a.txt || echo y > b.txt', [over('a.txt')]],
    ['test -f b && echo x > a.txt || exit 1', [over('a.txt')]],
    ['test -f b && echo x > a.txt || true', [over('a.txt')]],
    ['test -f b && echo x > a.txt || { ls; exit 1; }', [over('a.txt')]],
    ['test -f b && echo x > a.txt || echo y > a.txt', [over('a.txt')]],
    ['echo x > a.txt && test -f b && cp q c || cp r d', [over('a.txt')]],
    ['for f in a.txt b.txt; do echo x > $f; done', [over('a.txt'), over('b.txt')]],
  ])('%s', (command, expected) => {
    expect(writesOf(command)).toEqual(expected);
  });

  it.each([
    ['echo x > $FILE'],
    ['echo x > ~/a.txt'],
    ['echo x > *.txt'],
    ['echo x > a{1,2}.txt'],
    ['echo x > a[0-9]*.txt'],
    ['echo x > a[$i].txt'],
    ['echo x > $(mktemp)'],
    ['cd "$DIR" && echo x > a.txt'],
    ['cd - && echo x > a.txt'],
    ['cd -P src && cd .. && echo x > a.txt'],
    ['cd -P src/.. && echo x > a.txt'],
    ['exit 0; echo x > a.txt'],
    ['cd src && exit; echo x > a.txt'],
    ['test -f b && make || exit; exit; echo x > a.txt'],
    ['test -f b && cd src || exit; popd; echo x > a.txt'],
    ['pushd +1; echo x > a.txt'],
    ["bash script.sh <<< 'echo x > a.txt'"],
    ['bash <<E\necho x > $a.txt\nE'],
    ["echo -e 'echo x > a.txt' | sh"],
    ['set -- q *; cp "$@"'],
    [`a=(q a); a+=(b); cp "\${a[@]}"`],
    ['set -- q a; shift; cp "$@"'],
    [`a=(q "$PWD/a"); cd src; cp "\${a[@]}"`],
    ['f() { x="$@"; tee "$x"; }; f q a'],
    [`a=(q a); a=z; cp "\${a[@]}"`],
    ['if test -f b; then pushd src; fi; popd; echo x > a.txt'],
    ['{ exit 0; }; echo x > a.txt'],
    ["eval 'exit 0'; echo x > a.txt"],
    [`echo \${x:-$(echo x > a.txt)}`],
    ['cp -t $DIR a'],
    ['cp -nt dir a'],
    ['test -f b && cp q a || cp r b'],
    ['test -f b && echo x > a.txt || make'],
    ['test -f b && { cp q a; } || cp r b'],
    ['if test -f a; then echo x > b; fi'],
    ['for f in *.ts; do sed -i s/a/b/ $f; done'],
    ['if test -f a.txt; then exit; fi; echo x > a.txt'],
    ['if test -f a.txt; then $RUN; fi; echo x > a.txt'],
    ["bash -nc 'echo x > a.txt'"],
    ["bash script.sh -c 'echo x > a.txt'"],
    ["eval echo x '>' $FILE"],
    ['command -v tee a.txt'],
    ['sudo -l tee a.txt'],
    ['env -C src tee a.txt'],
    ['git commit -m "write > file and sed -i stuff"'],
    ["echo 'x > a.txt'"],
    ['ls # > a.txt'],
    ["python3 - <<'E'\nopen('a.txt', 'w')\nE"],
    ["cat <<'E'\necho x > a.txt\nE"],
    ['make 2>&1 > /dev/null'],
    ['make 2>& a.txt'],
    ['make <> a.txt'],
    ['exec 3<> a.txt'],
    ["apply_patch 3<<'E'\n*** Begin Patch\nE\n"],
    ['make >/dev/stderr'],
    ['sed -n 1,5p f.ts'],
    ['sed s/i/j/ f.ts'],
    ["perl -ne 'print' f.ts"],
    ["perl -e 'print 1' -i"],
    ['cp -n a b'],
    ['mv --update=none a b'],
    ['cp --update=none-fail a b'],
    ['cp a'],
    ['echo "unterminated > a.txt'],
    ['f() { echo x > a.txt; }'],
    ['F=a.txt; test -f b && F=b.txt; echo x > $F'],
    ['F=a.txt; if test -f b; then F=b.txt; fi; echo x > $F'],
    ['F=a.txt; read F; echo x > $F'],
    ['F="a b"; echo x > $F.txt'],
    ['F=a; F+=.txt; echo x > $F'],
    ['(F=a.txt); echo x > $F'],
    ['F=a.txt bash -c "echo x > $G"'],
    ['F=a.txt & echo x > $F'],
    ['for f in $(ls); do echo x > $f; done'],
    ['for f in a b; do [ -f $f ] || break; echo x > $f; done'],
    ['f() { return; echo x > a.txt; }; f'],
    ['if false; then f() { echo x > a.txt; }; fi; f'],
    ['if test -f b; then echo x > a; else echo y > c; fi'],
    ['if test -f b; then echo x > a; fi'],
    ['if test -f b; then mv b a; else cp b a; fi'],
    ['if test -f b; then cp b a; else cp b c; fi'],
    ['for f in {a,b}*.txt; do echo x > $f; done'],
    ['if a; then ls > a; elif b; then ls > b; else ls > a; fi'],
    ['case $x in 1) ls > a;; 2) pwd > a;; esac'],
    ['while test -f a; do echo x > a; done'],
    ['f() { f; echo x; }; f'],
    ['[[ 3 > 2 ]]'],
    [`echo ${'x'.repeat(100_001)} > a.txt`],
  ])('%s writes nothing for certain', (command) => {
    expect(writesOf(command)).toEqual([]);
  });
});

it('a line with many uncertain folders is walked in little time', () => {
  const line = `${Array.from({ length: 40 }, (_, at) => `{ make && cd d${at}; `).join('')}echo x > a.txt${'; }'.repeat(40)}`;
  expect(writesOf(line)).toHaveLength(8);
});

describe('the names in a command', () => {
  it.each([
    ['cat a.txt src/b.ts', ['a.txt', 'src/b.ts']],
    ['cd src && cat b.ts', ['src/b.ts']],
    ['head -n 5 a | grep x', ['a']],
    ['git show --file=src/a.ts', ['src/a.ts']],
    ['dd if=a.bin of=b.bin', ['a.bin', 'b.bin']],
    ['echo $(cat x.txt)', ['x.txt']],
    ['if true; then cat y.txt; fi', ['y.txt']],
    ['python3 -c "print(open(\'src/x.ts\').read())"', ['src/x.ts']],
    ["python3 - <<'E'\nprint(open('lib/y.py').read())\nE", ['lib/y.py']],
    ["bash -c 'cat q.txt'", ['q.txt']],
    [
      "node -e \"read('vite.config.ts'); read('.eslintrc.json'); see a.txt.\"",
      ['vite.config.ts', '.eslintrc.json', 'a.txt'],
    ],
    ['cat "my file.txt"', ['file.txt']],
    ['diff a.txt b.txt > c.diff', ['c.diff']],
  ])('%s', (command, expected) => {
    expect(namesOf(command)).toEqual(expect.arrayContaining(expected));
  });

  it('excludes words that the shell expands, and is bounded', () => {
    expect(namesOf('cat $FILE *.ts ~/x')).toEqual(['cat']);
    expect(namesOf(`cat ${Array.from({ length: 500 }, (_, at) => `f${at}`).join(' ')}`)).toHaveLength(200);
  });
});

it('the names are found in a long text without paths', () => {
  // If every part of the text were compared with each other part, this would take a minute.
  expect(namesOf(`xxd -r -p > a.bin <<'E'\n${'0123456789abcdef'.repeat(6000)}\nE`)).toContain('a.bin');
});

describe('texts that a command prints into a file', () => {
  it.each([
    ['echo hello world > a.txt', 'hello world\n'],
    ["echo 'a  b' > a.txt", 'a  b\n'],
    ['echo -n x > a.txt', 'x'],
    ["printf 'one\\ntwo\\n' > a.txt", 'one\ntwo\n'],
    ["printf '%s\\n' one two > a.txt", 'one\ntwo\n'],
    ['echo "$x" > a.txt', undefined],
    ["printf '%d' 3 > a.txt", undefined],
    ['echo x >> a.txt', undefined],
    ['echo x 2> a.txt', undefined],
    ['echo x > a.txt >&2', undefined],
    ['echo x > a.txt 2>&1', 'x\n'],
    ['ls > a.txt', undefined],
  ])('%s', (command, content) => {
    expect(
      shellLine(command)
        .writes()
        .flatMap((write) => ('printed' in write ? [{ path: write.path, content: write.printed }] : [])),
    ).toEqual(content === undefined ? [] : [{ path: 'a.txt', content }]);
  });
});

it('the path in a git revision is a name', () => {
  expect(namesOf('git show HEAD~1:src/a.ts')).toContain('src/a.ts');
});

describe('paths that a command may move', () => {
  it.each<[string, readonly string[]]>([
    ['mv a b', ['a', 'b']],
    ['mv -n a b', ['a', 'b']],
    ['mv -t d a b', ['a', 'b']],
    ['git mv a b', ['a', 'b']],
    ['if true; then mv a b; fi', ['a', 'b']],
    ['false || mv a b', ['a', 'b']],
    ['cd d && mv a b', ['d/a', 'd/b']],
    ['mv "$A" b*', []],
    ['cp a b', []],
    ['git add mv', []],
  ])('%s', (command, paths) => {
    expect(shellLine(command).moves()).toEqual(paths);
  });
});

it.each([
  ['server &'],
  ['nohup npm run dev > log 2>&1 &'],
  ['cd app && npm start &'],
  ['(server &)'],
  ['{ server & }; sleep 1; curl localhost'],
  ['if true; then server & fi'],
  ['for i in 1 2; do worker $i & done'],
  ["bash -c 'server & sleep 1'"],
  ["eval 'server &'"],
  ['echo $(server > /dev/null & echo $!)'],
  ['a & wait; b &'],
  ['setsid -f server'],
  ['tmux new -d server'],
  ['gunicorn app --daemon'],
  ['/usr/bin/screen -dm server'],
])('a line leaves processes running: %s', (line) => {
  expect(shellLine(line).leavesProcesses).toBe(true);
});

it.each([
  ['server'],
  ['nohup server'],
  ['a && b'],
  ['a 2>&1 | tee log'],
  ['a &> log'],
  ['a & b & wait'],
  ['server & pid=$!; sleep 1; curl localhost; kill $pid'],
  ['server & sleep 1; curl localhost; pkill -f server'],
  ['server & trap "kill $!" EXIT; kill %1'],
  ["cat > run.sh <<'EOF'\nserver &\nEOF"],
  ["echo 'server &'"],
  ['server & ('],
])('a line leaves nothing running, as far as it shows: %s', (line) => {
  expect(shellLine(line).leavesProcesses).toBe(false);
});
