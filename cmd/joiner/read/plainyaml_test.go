package read

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/dump"
)

// sameAsLibrary fails where the plain way of reading YAML gives something else than the library does. It reports whether
// the text was read the plain way.
func sameAsLibrary(t *testing.T, p *plainYAML, text []byte) bool {
	t.Helper()
	got, ok := p.convert(text)
	if !ok {
		return false
	}
	want, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		t.Fatalf("read as %s, and the library says %v, of\n%q", got, err, text)
	}
	var is, should any
	if err := json.Unmarshal(got, &is); err != nil {
		t.Fatalf("%v: %s of\n%q", err, got, text)
	}
	if err := json.Unmarshal(want, &should); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(is, should) {
		t.Fatalf("read as %s\nwant       %s\nof\n%q", got, want, text)
	}
	return true
}

var plainTexts = []string{
	"a: b\n", "a:\n  b: c\n  d: e\nf: g\n", "a:\n- b\n- c: d\n  e: f\n- - g\n  - h\nz: 1\n", "a:\n  - b\n", "- a: 1\n  b:\n  - 2\n- a: 3\n",
	"a:\nb: null\nc: ~\nd: \"\"\ne: ''\n", "a: {}\nb: []\n", "a: true\nb: yes\nc: 'yes'\nd: On\ne: nope\n", "a: 1\nb: -1\nc: 0x1f\nd: 1e3\ne: 1.50\nf: 012\ng: 1_000\nh: 1:30\n",
	"a: 100m\nb: 4Gi\nc: 10.0.0.1\nd: 2026-01-02\ne: 2026-01-02T03:04:05Z\nf: -x\n", "a: 'it''s'\nb: \"a\\\"b\\\\c\\n\"\n", "a: some text that goes\n  on here\n  and there\nb: c\n",
	"a: 'some text that\n  goes on'\nb: \"some \\\n  \\ text\\\n  goes\n  on\"\n", "a: |\n  line\n    more\n\n  end\nb: |-\n  x\nc: |+\n  y\n\nd: e\n", "- |\n  x\n- y\n",
	"f:metadata:\n  f:labels:\n    .: {}\n    f:app: {}\n", "'k:{\"type\":\"Ready\"}':\n  x: y\n", "a: b:c\nd: /healthz\ne: $(X)\n", "a: <none>\nd: .5\n",
}

func TestPlainYAMLReadsWhatTheLibraryReads(t *testing.T) {
	p := &plainYAML{}
	for _, text := range plainTexts {
		if !sameAsLibrary(t, p, []byte(text)) {
			t.Errorf("gave up at\n%s", text)
		}
	}
}

func TestPlainYAMLGivesUpWhereYAMLIsNotPlain(t *testing.T) {
	p := &plainYAML{}
	for _, text := range []string{
		"", "a", "a: b", "a: b # c\n", "# a\n", "a: &x b\n", "a: *x\n", "a: !!str 1\n", "a: [1]\n", "a: {b: c}\n", "a: >\n  b\n", "a: |2\n  b\n", "? a\n: b\n", "<<: a\n",
		"a: b\na: c\n", "a: b\n c: d\n", "a:\n  b: c\n d: e\n", "a: b: c\n", "a: 'b\n", "a: \"\\x41\"\n", "a: \u00e9\n", "a:\tb\n", "1: a\n", "yes: a\n", "- a\nb: c\n", "---\na: b\n", "a: --- b\n", "a: ...\n", "a: b\n...\n",
	} {
		if got, ok := p.convert([]byte(text)); ok {
			t.Errorf("%q is read as %s", text, got)
		}
	}
}

// What kubectl prints of whole clusters is plain.
func TestPlainYAMLReadsDumps(t *testing.T) {
	var text bytes.Buffer
	if err := dump.Write(&text, 3, 30); err != nil {
		t.Fatal(err)
	}
	lines, err := yaml.JSONToYAML(text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if !sameAsLibrary(t, &plainYAML{}, lines) {
		t.Error("gave up")
	}
}

// FuzzPlainYAML gives any text: either it is given up, or it means what the library says it means.
func FuzzPlainYAML(f *testing.F) {
	for _, text := range plainTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sameAsLibrary(t, &plainYAML{}, []byte(text))
	})
}

// Whatever is in an object, its YAML as kubectl writes it is read as what it is.
func TestPlainYAMLReadsWhatIsWritten(t *testing.T) {
	texts := rapid.OneOf(
		rapid.StringMatching(`[a-z0-9./:_-]{0,40}`),
		rapid.StringMatching(`([a-zA-Z0-9'"\\:#,.{}|>*&!%@=~ -]{1,12} ?){0,12}`),
		rapid.StringMatching("([a-z \"'\\\\#:-]{0,20}\n){0,4}[a-z ]{0,4}\n{0,2}"),
		rapid.SampledFrom([]string{"", " ", "y", "NO", "null", "~", "0", "-1", "1e3", "0x1", "1_0", "1:2", "-", "---", "...", "=", "<<", "{}", "[]", ".", "- a", "? a", "a: b", "a #b", "#", "2026-01-02"}),
	)
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaf := rapid.OneOf(rapid.Map(texts, func(s string) any { return s }), rapid.Map(rapid.Int32(), func(n int32) any { return n }),
			rapid.SampledFrom([]any{nil, true, false, 1.5, -1e30, map[string]any{}, []any{}}))
		if depth == 0 {
			return leaf
		}
		below := rapid.Deferred(func() *rapid.Generator[any] { return value(depth - 1) })
		return rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(below, 0, 4), func(l []any) any { return l }),
			rapid.Map(rapid.MapOfN(texts, below, 0, 20), func(m map[string]any) any { return m }))
	}
	p := &plainYAML{}
	read, all := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		text, err := yaml.Marshal(map[string]any{"items": value(4).Draw(r, "object")})
		if err != nil {
			r.Skip(err)
		}
		all++
		if sameAsLibrary(t, p, text) {
			read++
		}
	})
	if read*4 < all {
		t.Errorf("of %d texts %d were plain", all, read)
	}
}
